/**
 * Walking a result of 10 million rows in full pages by `next_uri`, as clients do: sorted, against one sorted COPY of the same
 * rows to a JSON file; and sorted under a filter, against one filtered and sorted COPY. The first page is read directly, the
 * second waits until the view has been materialised, all others are ranges of it.
 */
import { join } from 'node:path';
import { print, quantile, report } from './measure.ts';
import { DATA, duckDb, publishedRows, startService, storedRowsSql } from './service.ts';

const ROWS = 10_000_000;
const FILTER = "success = true and token_pair like 'token pair 1%'";
const PAGES_MAX = 100_000;

const execution = await publishedRows(ROWS);
const connection = await duckDb(2);
await walkBesideCopy('sorted', {}, '');
await walkBesideCopy('sorted under a filter', { filters: FILTER }, `WHERE ${stored(FILTER)}`);
connection.closeSync();

async function walkBesideCopy(what: string, parameters: Record<string, string>, where: string): Promise<void> {
  // A service of its own, so that no view is there already; it forgets them when it ends.
  await using service = await startService();
  const query = new URLSearchParams({ ...parameters, sort_by: 'amount_usd desc' });
  let next: string | undefined = `${service.url}/v1/execution/${execution}/results?${query}`;
  const millis: number[] = [];
  let rows = 0;
  const start = performance.now();
  while (next !== undefined && millis.length < PAGES_MAX) {
    const pageStart = performance.now();
    const response: Response = await fetch(next, {
      headers: { 'x-service-api-key': service.key, 'accept-encoding': 'identity' },
    });
    const text = Buffer.from(await response.arrayBuffer());
    if (response.status !== 200) throw new Error(`status ${response.status}: ${text.toString('utf8', 0, 500)}`);
    millis.push(performance.now() - pageStart);
    // Only the end of the answer is parsed. To parse 7 MB would be the client's time, not the service's.
    const tail = text.toString('utf8', Math.max(0, text.byteLength - 4000));
    rows += Number(/"row_count":(\d+)/.exec(tail)?.[1]);
    const uri = /"next_uri":("(?:[^"\\]|\\.)*")\}?$/.exec(tail)?.[1];
    next = uri === undefined ? undefined : (JSON.parse(uri) as string);
  }
  const seconds = (performance.now() - start) / 1000;
  const copyStart = performance.now();
  await connection.run(
    `COPY (${storedRowsSql(execution, where)} ORDER BY c2 DESC) TO '${join(DATA, 'sorted.json')}' (FORMAT json)`,
  );
  const copy = (performance.now() - copyStart) / 1000;
  report(
    `walk of ${(rows / 1e6).toFixed(2)} million rows, ${what} / one COPY`,
    seconds / copy,
    '≤ 2',
    `${seconds.toFixed(1)} s / ${copy.toFixed(1)} s, ${millis.length} pages`,
  );
  const [first = Number.NaN, second = Number.NaN, ...later] = millis;
  print(
    `  first page ${first.toFixed(0)} ms, the page that materialises ${second.toFixed(0)} ms, later pages p50 ${quantile(later, 0.5).toFixed(1)} ms, p95 ${quantile(later, 0.95).toFixed(1)} ms`,
  );
}

/** The filter over the columns as they are stored. */
function stored(filter: string): string {
  return filter.replace('success', 'c5').replace('token_pair', 'c8');
}
