/** Shown instead of rows when there are none: why, and what to do. While a run goes on, its state is polled. */
import { useEffect, useState } from 'preact/hooks';
import type { RunProgress, RunStatus } from '../api/answers.ts';
import { requestJson } from '../api/client.ts';
import { count, counted } from '../numbers.ts';
import { Notice } from '../parts/notice.tsx';
import { Moment } from '../parts/state.tsx';
import type { Shown } from './query-page.tsx';

const POLL_MILLIS = 3000;

export function NoRows({ query, run }: Shown) {
  const id = query.query_id;
  if (run === undefined) {
    return (
      <Notice title="This query has never run">
        <p>
          Give it rows with <code>qrs publish FILE --query {id}</code>, or, where it has SQL, run it:{' '}
          <code>POST /v1/query/{id}/execute</code>.
        </p>
      </Notice>
    );
  }
  switch (run.state) {
    case 'QUERY_STATE_PENDING':
    case 'QUERY_STATE_EXECUTING':
      return <Waiting run={run} />;
    case 'QUERY_STATE_FAILED':
      return <Failed run={run} />;
    case 'QUERY_STATE_CANCELLED':
      return (
        <Notice title="This run was cancelled">
          {run.cancelled_at !== undefined && (
            <p>
              <Moment at={run.cancelled_at} />
            </p>
          )}
          <OtherRuns id={id} />
        </Notice>
      );
    default:
      return (
        <Notice title="The result of this run has expired">
          {run.expires_at !== undefined && (
            <p>
              They expired <Moment at={run.expires_at} />.
            </p>
          )}
          <OtherRuns id={id} />
        </Notice>
      );
  }
}

function Waiting({ run }: { readonly run: RunStatus }) {
  const waits = run.state === 'QUERY_STATE_PENDING';
  const [{ queue_position: place, progress }, setStatus] = useState(run);
  useEffect(() => {
    const look = async () => {
      const now = await requestJson<RunStatus>(`/v1/execution/${run.execution_id}/status`).catch(() => undefined);
      // It may be there again the next time.
      if (now === undefined) return;
      if (now.state !== run.state) location.reload();
      setStatus(now);
    };
    const timer = setInterval(look, POLL_MILLIS);
    return () => clearInterval(timer);
  }, []);
  return (
    <Notice title={waits ? 'This run waits for its turn' : 'This run goes on'}>
      <p>
        It was submitted <Moment at={run.submitted_at} />.{' '}
        {place !== undefined && `It is number ${place} in the queue. `}
        This page shows its rows as soon as it has ended.
      </p>
      {progress !== undefined && <Progress of={progress} />}
      <OtherRuns id={run.query_id} />
    </Notice>
  );
}

function Progress({ of }: { readonly of: RunProgress }) {
  const { percent, completed_splits, total_splits, processed_rows } = of;
  const facts = [
    percent !== undefined && `${percent} %`,
    total_splits !== undefined && `${count(completed_splits ?? 0)} of ${count(total_splits)} splits`,
    processed_rows !== undefined && `${counted(processed_rows, 'row')} read`,
  ].filter((fact) => fact !== false);
  return (
    <p>
      <progress aria-label="How far the engine is" max={100} value={percent} /> {facts.join(', ')}
    </p>
  );
}

function Failed({ run }: { readonly run: RunStatus }) {
  const { error } = run;
  const { line, column } = error?.metadata ?? {};
  return (
    <Notice title="This run failed" tone="bad">
      <p>
        <b>{error?.type}</b>
        {line !== undefined && ` in line ${line}`}
        {column !== undefined && `, column ${column}`}
      </p>
      <pre tabIndex={0}>{error?.message}</pre>
      <OtherRuns id={run.query_id} />
    </Notice>
  );
}

function OtherRuns({ id }: { readonly id: number }) {
  return (
    <p>
      <a href={`/queries/${id}?tab=runs`}>Other runs of the query</a>
    </p>
  );
}
