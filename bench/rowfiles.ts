/**
 * Row files: what they cost and what they give. A result that has none is read by DuckDB; one export has them built, which is measured beside
 * `COPY` to JSON of the same rows, and beside small pages of another result. Then the same pages out of row files: beside SQLite by its key
 * behind a plain route, beside `COPY` of the same rows, and the whole.
 */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { countBytes } from './count-bytes.ts';
import { load } from './load.ts';
import { childrenOf, medianPair, print, quantile, report } from './measure.ts';
import { sqliteRival } from './rivals/start.ts';
import { DATA, DATA_DIR, duckDb, publishedRows, startService, storedRowsSql } from './service.ts';

const ROWS = Number(process.env.BENCH_ROWS ?? 3_000_000);
/** Of a result that gets no row files, since it has fewer rows than those that do. */
const BESIDE_ROWS = 300_000;
const PAGE = 25_000;
const SMALL = 100;
const POLL_MILLIS = 50;
/** So often is `COPY` of all rows measured, since its computing time varies by a third. */
const COPIES = 3;
const TICKS_A_SECOND = 100;
/** Of ours and of the rival each, until V8 has compiled all that a page takes: some 15,000. */
const SETTLING_MILLIS = 6000;
/** They fill the memory for finished answers: until then each page is the first to use some of it. */
const SETTLING_FULL_PAGES = 60;
const TURNS = 9;
/** No divisor of the rows of a row group: pages come from everywhere. */
const STEP = 10_007;

rmSync(join(DATA_DIR, 'derived'), { recursive: true, force: true });
const execution = await publishedRows(ROWS);
const beside = await publishedRows(BESIDE_ROWS);
await using service = await startService({ QRS_ROW_FILES: String(ROWS) });
await using rival = await sqliteRival(ROWS);
const agent = new Agent({ keepAlive: true });
let asked = 0;

/** A page that nobody has asked for. */
async function page(of: string, rows: number, limit: number): Promise<void> {
  asked += 1;
  const offset = (asked * STEP) % (rows - limit);
  await get(`${service.url}/v1/execution/${of}/results?limit=${limit}&offset=${offset}`);
}

/** Small pages as a program asks for them that does little else: one after another on one connection, for a second, then the rival's. */
async function oneAfterAnother(): Promise<void> {
  const millisEach = async (url: string, path: string, turn: number, warmUpMillis = 200) => {
    const of = { url, path: `${path}?limit=${SMALL}&offset=OFFSET`, headers: { 'x-service-api-key': service.key } };
    const offsets = { firstOffset: turn, offsetStep: STEP, offsetModulo: ROWS - SMALL };
    return 1000 / (await load({ ...of, ...offsets, connections: 1, warmUpMillis, millis: 1000 })).perSecond;
  };
  const ofOurs = `/v1/execution/${execution}/results`;
  await millisEach(service.url, ofOurs, 0, SETTLING_MILLIS);
  await millisEach(rival.url, '/rows', 0, SETTLING_MILLIS);
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let turn = 1; turn <= TURNS; turn += 1) {
    ours.push(await millisEach(service.url, ofOurs, turn));
    theirs.push(await millisEach(rival.url, '/rows', turn));
  }
  const [page, sqlite] = [quantile(ours, 0.5), quantile(theirs, 0.5)];
  report(
    `${SMALL} rows anywhere, one page after another / SQLite likewise`,
    page / sqlite,
    '≤ 1',
    `${page.toFixed(2)} ms / ${sqlite.toFixed(2)} ms`,
  );
}

async function get(url: string): Promise<void> {
  await countBytes(url, { agent, headers: { 'x-service-api-key': service.key, 'accept-encoding': 'identity' } });
}

async function smallPages(during: () => boolean): Promise<number> {
  const times: number[] = [];
  while (during() || times.length < 50) {
    const start = performance.now();
    await page(beside, BESIDE_ROWS, SMALL);
    times.push(performance.now() - start);
  }
  return quantile(times, 0.95);
}

const connection = await duckDb(1);
const whole = `${service.url}/v1/execution/${execution}/results?ignore_max_datapoints_per_request=true`;
let pages = 0;
const idle = await smallPages(() => pages++ < 300);
const before = await millisOf(() => page(execution, ROWS, SMALL));
// The second page has them built.
await page(execution, ROWS, SMALL);
let building = true;
const built = buildingSeconds().finally(() => {
  building = false;
});
const besideBuilding = await smallPages(() => building);
const seconds = await built;
const copies: number[] = [];
for (let turn = 0; turn < COPIES; turn += 1) copies.push(await copyWholeSeconds());
const copySeconds = quantile(copies, 0.5);
report(
  'building row files / COPY to JSON, CPU',
  seconds / copySeconds,
  '≤ 3',
  `${seconds.toFixed(1)} s / ${copySeconds.toFixed(1)} s`,
);
report(
  'p95 of small pages beside building / idle',
  besideBuilding / idle,
  '≤ 2',
  `${besideBuilding.toFixed(1)} ms / ${idle.toFixed(1)} ms`,
);
const [derived, parts] = [bytesBelow(join(DATA_DIR, 'derived')), bytesBelow(join(DATA_DIR, 'results', execution))];
report(
  'disk of row files / of the stored parts',
  derived / parts,
  '≤ 2',
  `${(derived / 1e6).toFixed(0)} MB / ${(parts / 1e6).toFixed(0)} MB`,
);
print(`  100 rows by DuckDB, before: ${before.toFixed(1)} ms`);

const ofRival = (limit: number) =>
  countBytes(`${rival.url}/rows?limit=${limit}&offset=${(asked * STEP) % (ROWS - limit)}`, { agent });
await oneAfterAnother();
for (const limit of [SMALL, 1000]) {
  const [ours, sqlite] = await medianPair(
    200,
    () => page(execution, ROWS, limit),
    () => ofRival(limit),
  );
  report(
    `${limit} rows anywhere / SQLite by key, plain route`,
    ours / sqlite,
    '≤ 1',
    `${ours.toFixed(2)} ms / ${sqlite.toFixed(2)} ms`,
  );
}
for (let settling = 0; settling < SETTLING_FULL_PAGES; settling += 1) await page(execution, ROWS, PAGE);
const [full, copied] = await medianPair(
  15,
  () => page(execution, ROWS, PAGE),
  (run) => {
    const from = (run * STEP * 7) % (ROWS - PAGE);
    const where = `WHERE file_row_number >= ${from % 900_000} AND file_row_number < ${(from % 900_000) + PAGE}`;
    const first = storedRowsSql(execution, where).replace('part-*', 'part-00000');
    return connection.run(`COPY (${first}) TO '${join(DATA, 'page.json')}' (FORMAT json)`);
  },
);
report(
  '25,000 rows anywhere / COPY of them',
  full / copied,
  '≤ 0.4',
  `${full.toFixed(1)} ms / ${copied.toFixed(1)} ms`,
);
const [exported, copyWhole] = await medianPair(3, () => get(whole), copyAll);
report(
  'whole result as JSON / COPY, throughput',
  copyWhole / exported,
  '≥ 2',
  `${exported.toFixed(0)} ms / ${copyWhole.toFixed(0)} ms`,
);
connection.closeSync();

/** Computing time of the process that builds, a child of the service; until it ends. */
async function buildingSeconds(): Promise<number> {
  let ticks = 0;
  for (let seen = false; ; ) {
    const found = childTicks();
    if (found === undefined && seen) return ticks / TICKS_A_SECOND;
    if (found !== undefined) {
      seen = true;
      ticks = found;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLIS));
  }
}

/** User and system time of the service's only child, in ticks; Linux alone says so. */
function childTicks(): number | undefined {
  const [child] = childrenOf(service.pid);
  if (child === undefined) return undefined;
  try {
    const fields = readFileSync(`/proc/${child}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return undefined;
  }
}

/** Computing time of one `COPY` of all rows. */
async function copyWholeSeconds(): Promise<number> {
  const before = process.cpuUsage();
  await copyAll();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

async function copyAll(): Promise<void> {
  await connection.run(`COPY (${storedRowsSql(execution)}) TO '${join(DATA, 'rowfiles.json')}' (FORMAT json)`);
}

function bytesBelow(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /part-.*\.(rows|parquet)$/.test(name))
    .reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

async function millisOf(task: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await task();
  return performance.now() - start;
}
