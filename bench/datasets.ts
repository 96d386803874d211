/**
 * The curated datasets over the full-size demo sources (a million share events, 50,000 wallets): seconds and peak memory of each
 * refresh, against the plain COPY of the same SQL over the same files; and what the schedule does to requests beside it.
 */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Dataset } from '../src/datasets/dataset.ts';
import { loadDatasets } from '../src/datasets/registry.ts';
import { print, quantile, report, watchMemory } from './measure.ts';
import { DATA, duckDb, qrs, sourceFile, startQrs, startService } from './service.ts';

const SOURCES = join(DATA, 'sources');
const PAGES_IDLE = 300;

if (!existsSync(join(SOURCES, 'social', 'verified_wallets.parquet'))) await qrs(['demo-sources', SOURCES]);
const datasets = await loadDatasets({ strategyColumnNames: 'number' });
const dataDir = join(DATA, 'datasets');
rmSync(dataDir, { recursive: true, force: true });
const environment = { QRS_DATA_DIR: dataDir, QRS_SOURCES_DIR: SOURCES };

const total = { seconds: 0, floor: 0, peak: 0 };
for (const dataset of datasets) {
  // The first reading brings the files into memory and is not counted.
  await copySeconds(dataset);
  // The first reading brings the files into memory and is not counted.
  await copySeconds(dataset);
  const run = startQrs(['datasets', 'refresh', dataset.name, '--json'], environment);
  const memory = watchMemory(run.pid);
  const [refreshed] = JSON.parse(await run.output);
  const peak = memory.stop();
  const seconds = (Date.parse(refreshed.execution_ended_at) - Date.parse(refreshed.submitted_at)) / 1000;
  const floor = await copySeconds(dataset);
  print(`  ${dataset.name}: ${seconds.toFixed(2)} s / ${floor.toFixed(2)} s, peak ${peak.toFixed(0)} MB`);
  total.seconds += seconds;
  total.floor += floor;
  total.peak = Math.max(total.peak, peak);
}
report(
  'refresh all four datasets / COPY of their queries',
  total.seconds / total.floor,
  '≤ 2',
  `${total.seconds.toFixed(2)} s / ${total.floor.toFixed(2)} s, peak ${total.peak.toFixed(0)} MB`,
);
print('the floor leaves one file, checks nothing, hashes nothing and commits nothing');
await pagesBeside();

/** The query as DuckDB alone would run it, on one thread as the engine does, reading the same Parquet files. */
async function copySeconds(dataset: Dataset): Promise<number> {
  const connection = await duckDb(1);
  for (const source of dataset.sources) {
    const [schema = '', table = ''] = source.name.split('.');
    // What the SQL casts to DECIMAL(38, 0) must come as that: from text it would take minutes.
    const columns = source.columns.map((column) =>
      column.type.kind === 'uint256'
        ? `CAST(CAST(${column.name} AS HUGEINT) AS DECIMAL(38, 0)) AS ${column.name}`
        : column.name,
    );
    await connection.run(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await connection.run(
      `CREATE VIEW ${schema}.${table} AS SELECT ${columns.join(', ')} FROM '${join(SOURCES, schema, table)}.parquet'`,
    );
  }
  const sql = dataset.sql.replaceAll('{{as_of}}', 'now()');
  const start = performance.now();
  await connection.run(`COPY (${sql}) TO '${join(DATA, 'floor.parquet')}' (FORMAT parquet, COMPRESSION zstd)`);
  const seconds = (performance.now() - start) / 1000;
  connection.closeSync();
  return seconds;
}

/** Small pages of another query, none asked for twice, while the service catches up all four datasets in the same process. */
async function pagesBeside(): Promise<void> {
  await qrs(['users', 'add', 'bench'], environment);
  const key = await qrs(['keys', 'create', '--user', 'bench'], environment);
  await qrs(['queries', 'add', '--id', '1', '--user', 'bench'], environment);
  await qrs(['publish', await sourceFile(100_000), '--query', '1'], environment);
  let offset = 0;
  const page = async (url: string) => {
    offset += 20;
    const start = performance.now();
    const response = await fetch(`${url}/v1/query/1/results?limit=20&offset=${offset}&api_key=${key}`);
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`a page was answered with ${response.status}`);
    return performance.now() - start;
  };
  const idle: number[] = [];
  {
    await using service = await startService({ ...environment, QRS_SCHEDULE: 'false' });
    for (let i = 0; i < PAGES_IDLE / 3; i += 1) await page(service.url);
    for (let i = 0; i < PAGES_IDLE; i += 1) idle.push(await page(service.url));
  }
  const beside: number[] = [];
  await using service = await startService(environment);
  const memory = watchMemory(service.pid);
  // The last of the four, as they are refreshed in the order of their names.
  const points = async () => {
    const response = await fetch(`${service.url}/v1/points/alpha/pts?limit=0&api_key=${key}`);
    return ((await response.json()) as { readonly execution_id: string }).execution_id;
  };
  const before = await points();
  while ((await points()) === before) for (let i = 0; i < 20; i += 1) beside.push(await page(service.url));
  report(
    'p95 of small pages while all four are refreshed / idle',
    quantile(beside, 0.95) / quantile(idle, 0.95),
    '≤ 3',
    `${quantile(beside, 0.95).toFixed(1)} ms / ${quantile(idle, 0.95).toFixed(1)} ms, ${beside.length} pages, peak ${memory.stop().toFixed(0)} MB`,
  );
}
