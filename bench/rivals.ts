/**
 * What a team would write instead: the rows in SQLite or in PostgreSQL, a plain Fastify route, and JSON.stringify. The same
 * rows, requests and machine, each server in a process of its own, one after the other in the same run.
 *
 * SQLite comes with Node. PostgreSQL is taken from Debian (`apt-get install postgresql`; its `initdb` and `postgres` are looked
 * for on the PATH) and its client from npm, beside the benchmarks' data: `npm install --prefix bench/.data pg`. What is not there
 * is skipped, and the run says so.
 */
import { medianMillis, print, report } from './measure.ts';
import { type Rival, startRivals } from './rivals/start.ts';
import { publishedRows, startService } from './service.ts';

const ROWS = 1_000_000;
const PAGE = 25_000;
const RUNS = 5;

const execution = await publishedRows(ROWS);
await using service = await startService();
const path = `/v1/execution/${execution}/results`;
/** Ours has no cache for what it never saw, so each run asks for another page, of everyone. */
const requests = {
  'a full page at offset 0': (run: number) => `limit=${PAGE - run}`,
  'a full page at offset 900,000': (run: number) => `limit=${PAGE}&offset=${900_000 + run}`,
  '100 rows at offset 900,000': (run: number) => `limit=100&offset=${900_000 + run}`,
  'first 100 rows of a filter, sorted': (run: number) =>
    `limit=${100 + run}&sort_by=amount_usd desc&filters=gas_used > 500000`,
  'a sample of 1,000 rows': (run: number) => `sample_count=${1000 + run}`,
} as const;

async function get(url: string, key: string): Promise<string> {
  const response = await fetch(encodeURI(url), {
    headers: { 'x-service-api-key': key, 'accept-encoding': 'identity' },
  });
  const tail = Buffer.from(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`${url}: status ${response.status} ${tail.toString('utf8', 0, 300)}`);
  return tail.toString('utf8', Math.max(0, tail.byteLength - 3000));
}

/** Pages by `next_uri`, until there is none. */
async function walk(first: string, key: string): Promise<void> {
  let next: string | undefined = first;
  while (next !== undefined) {
    const uri: string | undefined = /"next_uri":("(?:[^"\\]|\\.)*")\}?$/.exec(await get(next, key))?.[1];
    // What is in it is encoded already.
    next = uri === undefined ? undefined : decodeURI(JSON.parse(uri));
  }
}

async function measure(url: string, key: string): Promise<ReadonlyMap<string, number>> {
  const millis = new Map<string, number>();
  for (const [what, query] of Object.entries(requests)) {
    millis.set(what, await medianMillis(RUNS, (run) => get(`${url}?${query(run)}`, key)));
  }
  const once = async (what: string, task: () => Promise<unknown>) => {
    const start = performance.now();
    await task();
    millis.set(what, performance.now() - start);
  };
  await once('walk of all rows, sorted, in full pages', () =>
    walk(`${url}?limit=${PAGE}&sort_by=amount_usd desc`, key),
  );
  await once('all rows as CSV', () => get(`${url}/csv?ignore_max_datapoints_per_request=true`, key));
  return millis;
}

print(`a result of ${ROWS} rows × 10 columns, milliseconds`);
const ours = await measure(service.url + path, service.key);
for await (const rival of startRivals(ROWS)) await beside(rival);

async function beside(rival: Rival): Promise<void> {
  if (rival.kind === 'skipped') {
    print(`  ${rival.name} was skipped: ${rival.reason}`);
    return;
  }
  await using server = rival.server;
  const theirs = await measure(`${server.url}/results`, '');
  for (const [what, millis] of ours) {
    const other = theirs.get(what) ?? Number.NaN;
    report(`${what} / ${rival.name}`, millis / other, '< 1', `${millis.toFixed(1)} ms / ${other.toFixed(1)} ms`);
  }
}
