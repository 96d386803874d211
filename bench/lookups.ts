/**
 * Filters on columns that have an index, other values each time, beside SQLite with an index on the same columns behind a plain route; the
 * first filter, before there is any index, beside DuckDB's own scan; what making an index takes beside sorting the column by `COPY`; and
 * what small pages wait meanwhile.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { load } from './load.ts';
import { medianPair, print, report } from './measure.ts';
import { indexedSqliteFile } from './rivals/start.ts';
import { DATA, duckDb, publishedRows, type Service, startListening, startService, storedRowsSql } from './service.ts';

const ROWS = Number(process.env.BENCH_ROWS ?? 3_000_000);
const RUNS = 60;
const PAGE = 'limit=100';
/** What our rival indexes, and we are asked about. */
const COLUMNS = ['user_name', 'amount_usd', 'tx_hash', 'token_pair'] as const;

const user = (run: number) => `user_${(run * 977 + 1) % 100_000}`;
const quoted = (text: string) => `'${text}'`;
/** As the hashes of the rows, which are of numbers: among them in order, but not there. */
const absentHash = (run: number) => `0x${createHash('md5').update(`absent ${run}`).digest('hex')}`;
const amount = (run: number) => (run * 1009) % 900_000;

interface Lookup {
  readonly filters: (run: number) => string;
  /** Where it is not written alike. */
  readonly theirs?: (run: number) => string;
  readonly sortBy?: string;
  readonly target: string;
}

const LOOKUPS: Readonly<Record<string, Lookup>> = {
  'user_name = … (30 rows)': { filters: (run) => `user_name = ${quoted(user(run))}`, target: '≤ 2' },
  'a hash that is not there': { filters: (run) => `tx_hash = ${quoted(absentHash(run))}`, target: '≤ 2' },
  'in (8 values)': {
    filters: (run) => `user_name in (${Array.from({ length: 8 }, (_, i) => quoted(user(run * 8 + i))).join(', ')})`,
    target: '≤ 2',
  },
  "like 'user\\_99…%'": {
    filters: (run) => `user_name like 'user\\_${9900 + (run % 90)}%' escape '\\'`,
    // LIKE ignores case there, and uses no index.
    theirs: (run) => `user_name >= 'user_${9900 + (run % 90)}' AND user_name < 'user_${9900 + (run % 90)}:'`,
    target: '≤ 2',
  },
  'amount_usd between … (90 rows)': {
    filters: (run) => `amount_usd between ${amount(run)} and ${amount(run) + 30}`,
    target: '≤ 3',
  },
  'user_name = …, sorted by amount_usd': {
    filters: (run) => `user_name = ${quoted(user(run))}`,
    sortBy: 'amount_usd desc',
    target: '≤ 3',
  },
  'user_name = … and amount_usd > …': {
    filters: (run) => `user_name = ${quoted(user(run))} and amount_usd > 500000`,
    target: '≤ 3',
  },
  'token_pair is null and amount_usd between …': {
    filters: (run) => `token_pair is null and amount_usd between ${amount(run)} and ${amount(run) + 30}`,
    target: '≤ 3',
  },
  'all rows, the largest 100 amounts': { filters: () => '', sortBy: 'amount_usd desc', target: '≤ 3' },
};

const execution = await publishedRows(ROWS);
const path = `/v1/execution/${execution}/results`;
print(`a result of ${ROWS} rows × 10 columns, ${RUNS} other values each`);
await using rival = await startListening([
  join(import.meta.dirname, 'rivals', 'rival-server.ts'),
  'sqlite',
  await indexedSqliteFile(ROWS, COLUMNS),
]);
{
  await using service = await startService({ QRS_INDEX_USES: 'off', QRS_ROW_FILES: 'off' });
  await verifyParts(service);
  await firstFilter(service);
}
await using service = await startService({ QRS_INDEX_USES: '1' });
await verifyParts(service);
await buildBesidePages();
for (const [what, lookup] of Object.entries(LOOKUPS)) await beside(what, lookup);

async function get(url: string, key: string): Promise<Response> {
  const response = await fetch(url, { headers: { 'x-service-api-key': key, 'accept-encoding': 'identity' } });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`${url}: status ${response.status} ${body.slice(0, 300)}`);
  return response;
}

async function verifyParts({ url, key }: Service): Promise<void> {
  for (const column of COLUMNS)
    await get(`${url}${path}?${new URLSearchParams({ limit: '1', filters: `${column} is null` })}`, key);
}

async function firstFilter({ url, key }: Service): Promise<void> {
  const connection = await duckDb(2);
  const [ours, scan] = await medianPair(
    9,
    (run) =>
      get(`${url}${path}?${PAGE}&${new URLSearchParams({ filters: `tx_hash = ${quoted(absentHash(run))}` })}`, key),
    async (run) => {
      await connection.run(
        storedRowsSql(execution, `WHERE c4 = ${quoted(absentHash(run))} ORDER BY file_row_number LIMIT 101`),
      );
    },
  );
  connection.closeSync();
  report(
    'first filter on a column, no index yet / DuckDB’s scan',
    ours / scan,
    '≤ 1.1',
    `${ours.toFixed(1)} ms / ${scan.toFixed(1)} ms`,
  );
}

/** Asks for each column until its index is there; small pages meanwhile, and before. */
async function buildBesidePages(): Promise<void> {
  const { url, key } = service;
  const headers = { 'x-service-api-key': key };
  const pages = async (firstOffset: number) =>
    await load({
      url,
      path: `${path}?${PAGE}&offset=OFFSET`,
      headers,
      connections: 4,
      firstOffset,
      offsetStep: 10_007,
      offsetModulo: ROWS - 100,
    });
  const idle = await pages(0);
  const start = performance.now();
  for (const column of COLUMNS) await get(`${url}${path}?limit=1&sort_by=${column}`, key);
  const beside = await pages(137);
  for (const column of COLUMNS) await untilIndexed(column);
  const millis = performance.now() - start;
  const sorted = await sortMillis();
  report(
    `${COLUMNS.length} indexes, wall, beside pages / sorting the columns by COPY`,
    millis / sorted,
    '≤ 2',
    `${(millis / 1000).toFixed(1)} s / ${(sorted / 1000).toFixed(1)} s`,
  );
  report(
    'p95 of small pages beside the building / idle',
    beside.p95 / idle.p95,
    '≤ 2',
    `${beside.p95.toFixed(1)} ms / ${idle.p95.toFixed(1)} ms`,
  );
}

async function untilIndexed(column: string): Promise<void> {
  for (let run = 0; run < 600; run += 1) {
    const query = new URLSearchParams({ limit: '1', sort_by: column, offset: String(run) });
    const response = await get(`${service.url}${path}?${query}`, service.key);
    if (response.headers.get('server-timing')?.includes('desc="index') === true) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`there is no index of ${column}`);
}

/** One thread, as the builder has. */
async function sortMillis(): Promise<number> {
  const connection = await duckDb(1);
  const start = performance.now();
  for (const column of COLUMNS) {
    const rows = `SELECT ${column} FROM (${storedRowsSql(execution)}) ORDER BY ${column}`;
    await connection.run(`COPY (${rows}) TO '${join(DATA, 'sorted.parquet')}' (FORMAT parquet, COMPRESSION zstd)`);
  }
  connection.closeSync();
  return performance.now() - start;
}

async function beside(what: string, { filters, theirs = filters, sortBy, target }: Lookup): Promise<void> {
  const query = (run: number, filter: string) =>
    new URLSearchParams({
      limit: String(100 + (filter === '' ? run : 0)),
      ...(filter !== '' && { filters: filter }),
      ...(sortBy !== undefined && { sort_by: sortBy }),
    });
  let way = '';
  const [ours, other] = await medianPair(
    RUNS,
    async (run) => {
      const response = await get(`${service.url}${path}?${query(run, filters(run))}`, service.key);
      way = /desc="([^"]*)"/.exec(response.headers.get('server-timing') ?? '')?.[1] ?? way;
    },
    (run) => get(`${rival.url}/results?${query(run, theirs(run))}`, ''),
  );
  report(`${what} / SQLite likewise`, ours / other, target, `${ours.toFixed(2)} ms / ${other.toFixed(2)} ms, ${way}`);
}
