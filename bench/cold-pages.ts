/**
 * Pages of a result in S3 that the process has never read: the bytes that it fetches for each, counted on the way from the server, beside
 * the bytes of the row groups that have the page's rows, by the Parquet file itself. Then exports of it from a server that is 30 ms away: beside
 * the same export of what is on local disk, and how much is fetched for it. It takes `npm run setup:s3`.
 */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { S3_MISSING } from '../test/s3-server.ts';
import { countBytes } from './count-bytes.ts';
import { type CountedTraffic, countTraffic } from './count-traffic.ts';
import { print, quantile, report } from './measure.ts';
import { openS3Result, type S3Result } from './s3-result.ts';
import { duckDb, startService } from './service.ts';

const ROWS = 1_000_000;
const PAGE_ROWS = 100;
/** Each in a row group of its own, of 61. */
const PAGES = 20;
const STEP_ROWS = 49_153;
const EXPORTS = 3;
/** Of an object store in the same region. */
const LATENCY_MILLIS = 30;

if (S3_MISSING === undefined) await measure();
else print(`  skipped: ${S3_MISSING}`);

async function measure(): Promise<void> {
  await using result = await openS3Result(ROWS);
  await using traffic = await countTraffic(result.endpoint);
  const { execution, key } = result;
  const groups = await rowGroups(result.folder);
  const environment = result.environment(traffic.url);
  // What is made in the background to read the next pages faster fetches, too: it is looked at by itself.
  await coldPages(traffic, execution, key, groups, { ...environment, QRS_ROW_FILES: 'off' });
  await background(traffic, execution, key, groups, environment);
  await exports(result, groups);
}

interface RowGroup {
  readonly firstRow: number;
  readonly rows: number;
  readonly bytes: number;
}

/** Of the result's parts, in order. */
async function rowGroups(folder: string): Promise<readonly RowGroup[]> {
  const parts = (await readdir(folder, { recursive: true })).filter((path) => /part-\d+\.parquet$/.test(path)).sort();
  const connection = await duckDb(1);
  const groups: RowGroup[] = [];
  let firstRow = 0;
  for (const part of parts) {
    const sql = `SELECT any_value(row_group_num_rows)::INT, sum(total_compressed_size)::INT
      FROM parquet_metadata('${join(folder, part)}') GROUP BY row_group_id ORDER BY row_group_id`;
    for (const [rows, bytes] of (await connection.runAndReadAll(sql)).getRows() as [number, number][]) {
      groups.push({ firstRow, rows, bytes });
      firstRow += rows;
    }
  }
  connection.closeSync();
  return groups;
}

async function coldPages(
  traffic: CountedTraffic,
  execution: string,
  key: string,
  groups: readonly RowGroup[],
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  await using service = await startService(environment);
  const ratios: number[] = [];
  const millis: number[] = [];
  for (let page = 0; page < PAGES; page += 1) {
    const offset = page * STEP_ROWS;
    const needed = groups
      .filter(({ firstRow, rows }) => firstRow < offset + PAGE_ROWS && firstRow + rows > offset)
      .reduce((sum, { bytes }) => sum + bytes, 0);
    const before = traffic.bytes;
    const start = performance.now();
    await getPage(service.url, execution, key, offset);
    millis.push(performance.now() - start);
    const ratio = (traffic.bytes - before) / needed;
    if (page === 0)
      report(
        'first page of a part, with its footer: bytes / row groups',
        ratio,
        '≤ 2',
        sizes(traffic.bytes - before, needed),
      );
    else ratios.push(ratio);
  }
  report(
    `cold pages of ${PAGE_ROWS} rows: bytes / row groups, the worst`,
    Math.max(...ratios),
    '≤ 2',
    `${ratios.length} pages`,
  );
  print(`  a cold page: ${quantile(millis.slice(1), 0.5).toFixed(0)} ms (median), with the server on this machine`);
}

/** As it is by default: a result that is read for the second time gets row files, and is fetched whole for that, once. */
async function background(
  traffic: CountedTraffic,
  execution: string,
  key: string,
  groups: readonly RowGroup[],
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  await using service = await startService(environment);
  const before = traffic.bytes;
  for (let page = 0; page < PAGES; page += 1) await getPage(service.url, execution, key, page * STEP_ROWS);
  const whole = groups.reduce((sum, { bytes }) => sum + bytes, 0);
  report(
    'all of these pages, row files built meanwhile: bytes / result',
    (traffic.bytes - before) / whole,
    '≤ 2',
    sizes(traffic.bytes - before, whole),
  );
}

/** Cold and warm in turn: what is local is removed before each cold one. */
async function exports(result: S3Result, groups: readonly RowGroup[]): Promise<void> {
  await using traffic = await countTraffic(result.endpoint, LATENCY_MILLIS);
  const environment = { ...result.environment(traffic.url), QRS_ROW_FILES: 'off' };
  await using service = await startService(environment);
  const stored = groups.reduce((sum, { bytes }) => sum + bytes, 0);
  const fetchedTo = join(result.dataDir, 'fetched');
  const measured = async (path: string) => {
    const start = performance.now();
    const url = `${service.url}/v1/execution/${result.execution}/results${path}ignore_max_datapoints_per_request=true`;
    await countBytes(url, { headers: { 'x-service-api-key': result.key, 'accept-encoding': 'identity' } });
    return performance.now() - start;
  };
  for (const [what, path] of [
    ['CSV', '/csv?'],
    ['JSON', '?'],
  ] as const) {
    const cold: number[] = [];
    const warm: number[] = [];
    let bytes = 0;
    for (let turn = 0; turn < EXPORTS; turn += 1) {
      for (const file of await readdir(fetchedTo, { recursive: true })) {
        if (file.endsWith('.parquet')) await rm(join(fetchedTo, file));
      }
      const before = traffic.bytes;
      cold.push(await measured(path));
      bytes = traffic.bytes - before;
      warm.push(await measured(path));
    }
    const [far, near] = [quantile(cold, 0.5), quantile(warm, 0.5)];
    report(
      `export as ${what}, each request ${LATENCY_MILLIS} ms / from local disk`,
      far / near,
      '≤ 1.3',
      `${far.toFixed(0)} ms / ${near.toFixed(0)} ms; ${sizes(bytes, stored)}`,
    );
  }
}

async function getPage(url: string, execution: string, key: string, offset: number): Promise<void> {
  const path = `/v1/execution/${execution}/results?limit=${PAGE_ROWS}&offset=${offset}`;
  await countBytes(url + path, { headers: { 'x-service-api-key': key } });
}

function sizes(fetched: number, needed: number): string {
  return `${(fetched / 1e6).toFixed(2)} MB / ${(needed / 1e6).toFixed(2)} MB`;
}
