/** The runs of a query, newest first. */
import { useState } from 'preact/hooks';
import type { ListAnswer, Run } from '../api/answers.ts';
import { requestJson } from '../api/client.ts';
import { bytes, count, day, duration } from '../numbers.ts';
import { useLastLoaded } from '../parts/load.ts';
import { FailedNotice, Loading, Notice } from '../parts/notice.tsx';
import { Moment, State } from '../parts/state.tsx';
import { AsOfForm } from './as-of.tsx';

type Answer = ListAnswer & { readonly executions: readonly Run[] };

const PAGE = 50;

export function RunsTab({ id, shown }: { readonly id: number; readonly shown: string | undefined }) {
  const [from, setOffset] = useState(0);
  const runs = useLastLoaded(
    async (signal) => {
      const asked = { parameters: { limit: PAGE, offset: from }, signal };
      return { ...(await requestJson<Answer>(`/v1/query/${id}/executions`, asked)), offset: from };
    },
    [from],
  );
  if (runs.kind === 'loading') return <Loading what="runs" />;
  if (runs.kind === 'failed') return <FailedNotice error={runs.error} />;
  const { executions, total, next_offset: next, offset } = runs.value;
  if (total === 0) return <Notice title="This query has never run" />;
  return (
    <section class="panel">
      <AsOfForm />
      <div class="scroll" tabIndex={0} role="region" aria-label="Runs">
        <table class="list">
          <thead>
            <tr>
              <th scope="col">Run</th>
              <th scope="col">State</th>
              <th scope="col">Submitted</th>
              <th scope="col" class="number">
                Took
              </th>
              <th scope="col" class="number">
                Rows
              </th>
              <th scope="col" class="number">
                Size
              </th>
              <th scope="col">Kept until</th>
              <th scope="col">To the run shown</th>
              <th scope="col">Remarks</th>
            </tr>
          </thead>
          <tbody>
            {executions.map((run) => (
              <RunRow key={run.execution_id} run={run} shown={shown} />
            ))}
          </tbody>
        </table>
      </div>
      <p class="pages">
        {offset > 0 && (
          <button type="button" onClick={() => setOffset(Math.max(0, offset - PAGE))}>
            Newer
          </button>
        )}
        <span>
          {count(offset + 1)} to {count(offset + executions.length)} of {count(total)}
        </span>
        {next !== undefined && (
          <button type="button" onClick={() => setOffset(next)}>
            Older
          </button>
        )}
      </p>
    </section>
  );
}

function RunRow({ run, shown }: { readonly run: Run; readonly shown: string | undefined }) {
  const { execution_id: id, execution_started_at: started, execution_ended_at: ended, row_count, error } = run;
  const parameters = Object.entries(run.query_parameters ?? {}).map(([name, value]) => `${name} = ${value}`);
  return (
    <tr aria-current={id === shown ? 'true' : undefined}>
      <td>
        <a class="mono" href={`/executions/${id}`}>
          {id}
        </a>
      </td>
      <td>
        <State state={run.state} />
      </td>
      <td>
        <Moment at={run.submitted_at} />
      </td>
      <td class="number">
        {started !== undefined && ended !== undefined && duration(Date.parse(ended) - Date.parse(started))}
      </td>
      <td class="number">{row_count !== undefined && count(row_count)}</td>
      <td class="number">{run.bytes !== undefined && bytes(run.bytes)}</td>
      <td>{run.expires_at !== undefined && <time dateTime={run.expires_at}>{day(run.expires_at)}</time>}</td>
      <td>
        {shown !== undefined && shown !== id && row_count !== undefined && (
          <a href={`/executions/${shown}?since=${id}`} aria-label={`What changed since ${id}`}>
            What changed since
          </a>
        )}
      </td>
      <td class="remark">{error === undefined ? parameters.join(', ') : `${error.type}: ${error.message}`}</td>
    </tr>
  );
}
