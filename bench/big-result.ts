/**
 * A replica with 1 GB of memory over a result in S3 that is larger than that: pages from its first rows, its last rows and anywhere, a walk of
 * full pages, filters, an export of a part; what each fetched, and how much memory the process has taken at most. `BENCH_GB=8 npm run bench
 * big-result` asks for 8 GB of cells, the largest that is stored by default; 1 by default. The result is published once and kept below
 * bench/.data (half a byte for each byte of cells, and as much again for its source). It takes `npm run setup:s3`.
 */
import { S3_MISSING } from '../test/s3-server.ts';
import { countBytes } from './count-bytes.ts';
import { countTraffic } from './count-traffic.ts';
import { peakMegabytes, print, quantile, report } from './measure.ts';
import { openS3Result, type S3Result } from './s3-result.ts';
import { startService } from './service.ts';

const GIGABYTES = Number(process.env.BENCH_GB ?? 1);
/** Of the benchmarks' rows, by the contract's measure. */
const CELL_BYTES_PER_ROW = 103;
const ROWS = Math.ceil((GIGABYTES * 1e9) / CELL_BYTES_PER_ROW);
const MEMORY_MB = 1000;
const PAGES = 200;
const PAGES_IN_A_ROW = 20;
const WALKED_PAGES = 40;
const FULL_PAGE_ROWS = 25_000;
const EXPORTED_ROWS = 2_000_000;
/** Steps through the result that come by every part, in no order. */
const STRIDE = 0.618_033_988_749;

if (S3_MISSING === undefined) await measure();
else print(`  skipped: ${S3_MISSING}`);

async function measure(): Promise<void> {
  await using result = await openS3Result(ROWS, { QRS_MAX_RESULT_BYTES: '64GB' });
  await read(result);
}

async function read({ execution, key, endpoint, environment }: S3Result): Promise<void> {
  await using traffic = await countTraffic(endpoint);
  await using service = await startService({
    ...environment(traffic.url),
    QRS_MEMORY: `${MEMORY_MB}MB`,
    QRS_STORE_CACHE: '500MB',
    // A search of all rows fetches all parts, which takes longer than a minute of a slow disk.
    QRS_READ_TIMEOUT: '10m',
    // It would fetch the whole result, once; how long that takes is not asked here.
    QRS_ROW_FILES: 'off',
  });
  const headers = { 'x-service-api-key': key, 'accept-encoding': 'identity' };
  const address = (query: string) => `${service.url}/v1/execution/${execution}/results${query}`;
  const answer = await fetch(address('?limit=0'), { headers });
  const { result } = (await answer.json()) as {
    result: { metadata: { total_row_count: number; total_result_set_bytes: number } };
  };
  const { total_row_count: rows, total_result_set_bytes: bytes } = result.metadata;
  print(`  ${rows} rows, ${(bytes / 1e9).toFixed(2)} GB of cells, read with QRS_MEMORY=${MEMORY_MB}MB`);
  const pages = async (what: string, queries: readonly string[]) => {
    const millis: number[] = [];
    const before = traffic.bytes;
    for (const query of queries) {
      const start = performance.now();
      await countBytes(address(query), { headers });
      millis.push(performance.now() - start);
    }
    const fetched = (traffic.bytes - before) / queries.length / 1e6;
    const [half, most] = [quantile(millis, 0.5).toFixed(0), quantile(millis, 0.99).toFixed(0)];
    const times = queries.length === 1 ? `${half} ms` : `${half} ms each (median), ${most} ms (p99)`;
    print(`  ${what}: ${times}, ${fetched.toFixed(2)} MB fetched${queries.length === 1 ? '' : ' each'}`);
  };
  const times = <T>(count: number, make: (index: number) => T) =>
    Array.from({ length: count }, (_, index) => make(index));
  const inARow = (from: number) => times(PAGES_IN_A_ROW, (index) => `?limit=100&offset=${from + index * 100}`);
  await pages('the first pages of 100 rows', inARow(0));
  await pages('the last pages of 100 rows', inARow(rows - PAGES_IN_A_ROW * 100));
  const anywhere = (page: number) => Math.floor(((page * STRIDE) % 1) * (rows - 100));
  await pages(
    '100 rows from anywhere',
    times(PAGES, (page) => `?limit=100&offset=${anywhere(page + 1)}`),
  );
  const walk = times(WALKED_PAGES, (page) => `?limit=${FULL_PAGE_ROWS}&offset=${page * FULL_PAGE_ROWS}`);
  await pages(`a walk of full pages (${FULL_PAGE_ROWS} rows)`, walk);
  const middle = Math.floor(rows / 2);
  await pages('a filter that finds one row, the whole result searched', [`?limit=10&filters=id%3D${middle}`]);
  await pages('another one, with what is left of that in the cache', [`?limit=10&filters=id%3D${middle + 1}`]);
  const exported = `/csv?limit=${EXPORTED_ROWS}&offset=${middle}&ignore_max_datapoints_per_request=true`;
  await pages(`an export of ${EXPORTED_ROWS} rows from the middle, as CSV`, [exported]);
  const peak = peakMegabytes(service.pid);
  report(
    'memory of the process, at most / QRS_MEMORY',
    peak / MEMORY_MB,
    '≤ 1',
    `${peak.toFixed(0)} MB / ${MEMORY_MB} MB`,
  );
}
