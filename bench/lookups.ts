/**
 * Filters on columns that have an index, other values each time, beside SQLite with an index on the same columns behind a plain route; the
 * first filter, before there is any index, beside DuckDB's own scan; what making an index takes beside sorting the column by `COPY`; and
 * what small pages wait meanwhile. `node bench/lookups.ts first found` makes only these: `first`, `build`, `beside`, `found`.
 */
import { createHash } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { load } from './load.ts';
import { medianPair, print, report } from './measure.ts';
import { indexedSqliteFile } from './rivals/start.ts';
import {
  DATA,
  DATA_DIR,
  duckDb,
  publishedRows,
  type Service,
  startListening,
  startService,
  storedRowsSql,
} from './service.ts';

const ROWS = Number(process.env.BENCH_ROWS ?? 3_000_000);
const RUNS = 60;
/** What our rival indexes, and we are asked about. */
const COLUMNS = ['user_name', 'amount_usd', 'tx_hash', 'token_pair'] as const;
/** Of whole numbers: its index is there soonest. */
const FIRST_COLUMN = 'gas_used';

const user = (run: number) => `user_${(run * 977 + 1) % 100_000}`;
const quoted = (text: string) => `'${text}'`;
/** As the hashes of the rows, which are of numbers: among them in order, but not there. */
const absentHash = (run: number) => `0x${createHash('md5').update(`absent ${run}`).digest('hex')}`;
const presentHash = (run: number) =>
  `0x${createHash('md5')
    .update(String((run * 104_729) % ROWS))
    .digest('hex')}`;
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
const named = process.argv.slice(2);
const isAsked = (part: string) => named.length === 0 || named.includes(part);
if (isAsked('first')) await firstFilter();
if (isAsked('build')) await buildAlone();
if (isAsked('beside')) await buildBesidePages();
if (isAsked('found')) await found();

async function found(): Promise<void> {
  await using service = await startService({ QRS_INDEX_USES: '1' });
  for (const column of COLUMNS) await untilIndexed(service, { sort_by: column });
  await untilIndexed(service, { filters: `user_name = ${quoted(user(RUNS + 1))}` });
  await untilEncoded();
  for (const [what, lookup] of Object.entries(LOOKUPS)) await beside(service, what, lookup);
}

/** Rows that indexes find lie far apart: look-ups are as fast as they get once all parts have row files. Finding rows has asked for these. */
async function untilEncoded(): Promise<void> {
  const parts = readdirSync(join(DATA_DIR, 'results', execution), { recursive: true, encoding: 'utf8' });
  const count = parts.filter((name) => /part-[0-9]+\.parquet$/.test(name)).length;
  const isEncoded = (name: string) => name.startsWith(`${execution}.part-`) && name.endsWith('.rows');
  for (let wait = 0; readdirSync(join(DATA_DIR, 'derived')).filter(isEncoded).length < count; wait += 1) {
    if (wait > 1000) throw new Error('there are no row files');
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function get(url: string, key: string): Promise<Response> {
  const response = await fetch(url, { headers: { 'x-service-api-key': key, 'accept-encoding': 'identity' } });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`${url}: status ${response.status} ${body.slice(0, 300)}`);
  return response;
}

async function ask({ url, key }: Service, query: Readonly<Record<string, string>>): Promise<Response> {
  return await get(`${url}${path}?${new URLSearchParams(query)}`, key);
}

async function firstFilter(): Promise<void> {
  await using service = await startService({ QRS_INDEX_USES: 'off', QRS_ROW_FILES: 'off' });
  const connection = await duckDb(2);
  for (const [what, hash] of Object.entries({ absent: absentHash, present: presentHash })) {
    let way = '';
    const [ours, scan] = await medianPair(
      9,
      async (run) => {
        way = wayOf(await ask(service, { limit: '100', filters: `tx_hash = ${quoted(hash(run))}` })) ?? way;
      },
      async (run) => {
        const where = `WHERE c4 = ${quoted(hash(run))} ORDER BY file_row_number LIMIT 101`;
        await connection.run(storedRowsSql(execution, where));
      },
    );
    report(
      `first filter on a column, no index yet, ${what} / DuckDB’s scan`,
      ours / scan,
      '≤ 1.1',
      `${ours.toFixed(1)} ms / ${scan.toFixed(1)} ms, ${way}`,
    );
  }
  connection.closeSync();
}

/** How the rows were found. */
function wayOf(response: Response): string | undefined {
  return /desc="([^"]*)"/.exec(response.headers.get('server-timing') ?? '')?.[1];
}

/** What was made in an earlier run is made anew. */
function removeDerived(): void {
  rmSync(join(DATA_DIR, 'derived'), { recursive: true, force: true });
}

/** The process that builds is there: the first index of all has started it, which is told apart. */
async function buildAlone(): Promise<void> {
  removeDerived();
  await using service = await startService({ QRS_INDEX_USES: '1', QRS_ROW_FILES: 'off' });
  await untilIndexed(service, { sort_by: FIRST_COLUMN });
  const first = await buildMillis(service);
  for (const column of COLUMNS) await untilIndexed(service, { sort_by: column });
  const millis = (await buildMillis(service)) - first;
  const sorted = await sortMillis();
  report(
    `making ${COLUMNS.length} indexes / sorting the columns by COPY, one thread`,
    millis / sorted,
    '≤ 2',
    `${(millis / 1000).toFixed(1)} s / ${(sorted / 1000).toFixed(1)} s; before it one of ${FIRST_COLUMN} and the start of the process: ${(first / 1000).toFixed(1)} s`,
  );
}

/** Of all indexes so far. */
async function buildMillis({ url }: Service): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return 1000 * Number(/^qrs_indexes_seconds_total (\S+)$/m.exec(metrics)?.[1]);
}

async function buildBesidePages(): Promise<void> {
  removeDerived();
  await using service = await startService({ QRS_INDEX_USES: '1', QRS_ROW_FILES: 'off' });
  const { url, key } = service;
  const pages = async (firstOffset: number) =>
    await load({
      url,
      path: `${path}?limit=100&offset=OFFSET`,
      headers: { 'x-service-api-key': key },
      connections: 4,
      firstOffset,
      offsetStep: 10_007,
      offsetModulo: ROWS - 100,
    });
  const idle = await pages(0);
  for (const column of COLUMNS) await ask(service, { limit: '1', sort_by: column });
  const beside = await pages(137);
  report(
    'p95 of small pages beside the making / idle',
    beside.p95 / idle.p95,
    '≤ 2',
    `${beside.p95.toFixed(1)} ms / ${idle.p95.toFixed(1)} ms`,
  );
  for (const column of COLUMNS) await untilIndexed(service, { sort_by: column });
}

/**
 * Asks, each time for one row more, until an index answers; what it finds is then in row files, too, or need not be. Seldom, since each
 * of these searches takes the cores that the builder, of lowest priority, needs; and for few rows, since more are not read one by one.
 */
async function untilIndexed(asked: Service, query: Readonly<Record<string, string>>): Promise<void> {
  for (let run = 0; run < 90; run += 1) {
    const response = await ask(asked, { ...query, limit: String(1 + run) });
    if (response.headers.get('server-timing')?.includes('desc="index') === true) return;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  throw new Error(`there is no index for ${JSON.stringify(query)}`);
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

async function beside(
  service: Service,
  what: string,
  { filters, theirs = filters, sortBy, target }: Lookup,
): Promise<void> {
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
      way = wayOf(response) ?? way;
    },
    (run) => get(`${rival.url}/results?${query(run, theirs(run))}`, ''),
  );
  report(`${what} / SQLite likewise`, ours / other, target, `${ours.toFixed(2)} ms / ${other.toFixed(2)} ms, ${way}`);
}
