/**
 * What a team would write instead: the rows in SQLite or in PostgreSQL, a plain Fastify route, and JSON.stringify. The same
 * rows, requests and machine, each server in a process of its own; ours and the rival's answer in turns.
 *
 * SQLite comes with Node. PostgreSQL is taken from Debian (`apt-get install postgresql`; its `initdb` and `postgres` are looked
 * for on the PATH) and its client from npm, beside the benchmarks' data: `npm install --prefix bench/.data pg`. What is not there
 * is skipped, and the run says so.
 */
import { medianPair, print, report } from './measure.ts';
import { type Rival, startRivals } from './rivals/start.ts';
import { publishedRows, startService } from './service.ts';

const ROWS = 1_000_000;
const PAGE = 25_000;
const RUNS = 5;

const execution = await publishedRows(ROWS);
/** Each run asks for another page, so that no answer comes from a cache. */
const requests = {
  'a full page at offset 0': (run: number) => `limit=${PAGE - run}`,
  'a full page at offset 900,000': (run: number) => `limit=${PAGE}&offset=${900_000 + run}`,
  '100 rows at offset 900,000': (run: number) => `limit=100&offset=${900_000 + run}`,
  'first rows of a filter, sorted by a column they index': (run: number) =>
    `limit=${100 + run}&sort_by=amount_usd desc&filters=gas_used > 500000`,
  'first rows of a filter, sorted by one they do not index': (run: number) =>
    `limit=${100 + run}&sort_by=score desc&filters=gas_used > 500000`,
  'a sample of 1,000 rows': (run: number) => `sample_count=${1000 + run}`,
} as const;

print(`a result of ${ROWS} rows × 10 columns`);
for await (const rival of startRivals(ROWS)) await beside(rival);

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

/** With a service of its own, so that it knows no page and no view from the rival before. */
async function beside(rival: Rival): Promise<void> {
  if (rival.kind === 'skipped') {
    print(`  ${rival.name} was skipped: ${rival.reason}`);
    return;
  }
  await using server = rival.server;
  await using service = await startService();
  const ours = `${service.url}/v1/execution/${execution}/results`;
  const theirs = `${server.url}/results`;
  const show = (what: string, millis: number, other: number) =>
    report(`${what} / ${rival.name}`, millis / other, '< 1', `${millis.toFixed(1)} ms / ${other.toFixed(1)} ms`);
  // Every part is read once, so that its checksum has been verified.
  for (const offset of [0, ROWS - 1]) await get(`${ours}?limit=1&offset=${offset}`, service.key);
  for (const [what, query] of Object.entries(requests)) {
    const [millis, other] = await medianPair(
      RUNS,
      (run) => get(`${ours}?${query(run)}`, service.key),
      (run) => get(`${theirs}?${query(run)}`, ''),
    );
    show(what, millis, other);
  }
  const sorted = `limit=${PAGE}&sort_by=amount_usd desc`;
  show(
    'walk of all rows, sorted, in full pages',
    await millisOf(() => walk(`${ours}?${sorted}`, service.key)),
    await millisOf(() => walk(`${theirs}?${sorted}`, '')),
  );
  const whole = 'csv?ignore_max_datapoints_per_request=true';
  show(
    'all rows as CSV',
    await millisOf(() => get(`${ours}/${whole}`, service.key)),
    await millisOf(() => get(`${theirs}/${whole}`, '')),
  );
}

async function millisOf(task: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await task();
  return performance.now() - start;
}
