/** The key's usage in the last days: requests, datapoints, bytes; by day and by query. */
import { useEffect } from 'preact/hooks';
import type { UsageAnswer, UsageCounts } from '../api/answers.ts';
import { requestJson } from '../api/client.ts';
import { bytes, count } from '../numbers.ts';
import { useLoaded } from '../parts/load.ts';
import { FailedNotice, Loading, Notice } from '../parts/notice.tsx';

export function UsagePage() {
  const usage = useLoaded((signal) => requestJson<UsageAnswer>('/v1/usage', { signal }), []);
  useEffect(() => {
    document.title = 'Usage · Query Results Service';
  }, []);
  return (
    <main>
      <h1>Usage</h1>
      {usage.kind === 'loading' && <Loading what="usage" />}
      {usage.kind === 'failed' && <FailedNotice error={usage.error} />}
      {usage.kind === 'here' && <Used {...usage.value} />}
    </main>
  );
}

function Used({ from, to, key, owner, days, queries }: UsageAnswer) {
  return (
    <>
      <p class="hint">
        From {from} to {to} (UTC). The newest requests are missing: they are counted every few seconds.
      </p>
      <dl class="figures">
        <Figure name="This key" counts={key} />
        <Figure name={`All keys of ${owner.user ?? owner.team}`} counts={owner} />
      </dl>
      {days.length === 0 && <Notice title="No requests in these days" />}
      {days.length > 0 && <Counts title="By day" head="Day" rows={days.map((one) => [one.day, one.day, one])} />}
      {queries.length > 0 && (
        <Counts
          title="By query"
          head="Query"
          rows={queries.map((one) => [
            String(one.query_id ?? ''),
            one.query_id === undefined ? 'none' : <a href={`/queries/${one.query_id}`}>{one.query_id}</a>,
            one,
          ])}
        />
      )}
    </>
  );
}

function Figure({ name, counts }: { readonly name: string; readonly counts: UsageCounts }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <b>{count(counts.datapoints)}</b> datapoints in {count(counts.requests)} requests, {bytes(counts.bytes)}
      </dd>
    </div>
  );
}

interface CountsProps {
  readonly title: string;
  readonly head: string;
  readonly rows: readonly (readonly [key: string, name: unknown, counts: UsageCounts])[];
}

function Counts({ title, head, rows }: CountsProps) {
  const most = Math.max(1, ...rows.map(([, , { datapoints }]) => datapoints));
  return (
    <section>
      <h2>{title}</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label={title}>
        <table class="list">
          <thead>
            <tr>
              <th scope="col">{head}</th>
              <th scope="col" class="number">
                Requests
              </th>
              <th scope="col" class="number">
                Datapoints
              </th>
              <th scope="col" class="number">
                Bytes
              </th>
              <td />
            </tr>
          </thead>
          <tbody>
            {rows.map(([key, name, counts]) => (
              <tr key={key}>
                <th scope="row">{name as string}</th>
                <td class="number">{count(counts.requests)}</td>
                <td class="number">{count(counts.datapoints)}</td>
                <td class="number">{bytes(counts.bytes)}</td>
                <td class="share">
                  <meter
                    min={0}
                    max={most}
                    value={counts.datapoints}
                    aria-label={`${count(counts.datapoints)} datapoints`}
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
