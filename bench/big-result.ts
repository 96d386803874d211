/**
 * A replica with 1 GB of memory over a result in S3 that is larger than that: pages from anywhere, a filter, a walk of full pages, and how
 * much memory its processes have taken at most. `BENCH_GB=8 npm run bench big-result` asks for 8 GB of cells; 1 by default. The
 * disk holds the result twice, packed, while it is made. It takes `npm run setup:s3`.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { S3_MISSING, S3Server } from '../test/s3-server.ts';
import { countBytes } from './count-bytes.ts';
import { type CountedTraffic, countTraffic } from './count-traffic.ts';
import { print, quantile, report, residentMegabytes } from './measure.ts';
import { publishToS3 } from './s3-result.ts';
import { startService } from './service.ts';

const GIGABYTES = Number(process.env.BENCH_GB ?? 1);
/** Of the benchmarks' rows, by the contract's measure. */
const CELL_BYTES_PER_ROW = 103;
const ROWS = Math.ceil((GIGABYTES * 1e9) / CELL_BYTES_PER_ROW);
const MEMORY_MB = 1000;
const PAGES = 200;
const WALKED_PAGES = 40;
const FULL_PAGE_ROWS = 25_000;
/** Steps through the result that come by every part, in no order. */
const STRIDE = 0.618_033_988_749;

if (S3_MISSING === undefined) await measure();
else print(`  skipped: ${S3_MISSING}`);

async function measure(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-bench-'));
  await using s3 = await S3Server.start();
  await using traffic = await countTraffic(s3.endpoint);
  try {
    const place = { folder, bucket: s3.bucket, endpoint: traffic.url };
    const { execution, key, environment } = await publishToS3(ROWS, place, {
      QRS_MEMORY: `${MEMORY_MB}MB`,
      QRS_MAX_RESULT_BYTES: '64GB',
      QRS_STORE_CACHE: '500MB',
      // It would fetch the whole result, once; how long that takes is not asked here.
      QRS_ROW_FILES: 'off',
    });
    await read(execution, key, traffic, environment);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function read(
  execution: string,
  key: string,
  traffic: CountedTraffic,
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  await using service = await startService(environment);
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, residentMegabytes(service.pid) || 0);
  }, 50);
  const get = async (query: string) => {
    const start = performance.now();
    const path = `/v1/execution/${execution}/results?${query}`;
    await countBytes(service.url + path, { headers: { 'x-service-api-key': key } });
    return performance.now() - start;
  };
  const answer = await fetch(`${service.url}/v1/execution/${execution}/results?limit=0`, {
    headers: { 'x-service-api-key': key },
  });
  const { result } = (await answer.json()) as {
    result: { metadata: { total_row_count: number; total_result_set_bytes: number } };
  };
  const { total_row_count: rows, total_result_set_bytes: bytes } = result.metadata;
  print(`  ${rows} rows, ${(bytes / 1e9).toFixed(2)} GB of cells, read with QRS_MEMORY=${MEMORY_MB}MB`);
  const cold: number[] = [];
  const before = traffic.bytes;
  for (let page = 0; page < PAGES; page += 1) {
    cold.push(await get(`limit=100&offset=${Math.floor(((page * STRIDE) % 1) * (rows - 100))}`));
  }
  const each = (traffic.bytes - before) / PAGES / 1e6;
  print(
    `  100 rows from anywhere: ${quantile(cold, 0.5).toFixed(0)} ms (median), ${quantile(cold, 0.99).toFixed(0)} ms (p99), ${each.toFixed(2)} MB fetched each`,
  );
  const full: number[] = [];
  for (let page = 0; page < WALKED_PAGES; page += 1)
    full.push(await get(`limit=${FULL_PAGE_ROWS}&offset=${page * FULL_PAGE_ROWS}`));
  print(`  a walk of full pages (${FULL_PAGE_ROWS} rows): ${quantile(full, 0.5).toFixed(0)} ms each (median)`);
  const middle = Math.floor(rows / 2);
  print(`  a filter that finds one row: ${(await get(`limit=10&filters=id%3D${middle}`)).toFixed(0)} ms`);
  clearInterval(timer);
  report(
    'memory of the process, at most / QRS_MEMORY',
    peak / MEMORY_MB,
    '≤ 1',
    `${peak.toFixed(0)} MB / ${MEMORY_MB} MB`,
  );
}
