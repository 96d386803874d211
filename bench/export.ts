/**
 * A whole result over HTTP, streamed: throughput against DuckDB's COPY of the same rows to a file, and how much memory the
 * service takes meanwhile, also with a client that reads one megabyte a second.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { print, report, residentMegabytes, watchMemory } from './measure.ts';
import { DATA, duckDb, publishedRows, startService, storedRowsSql } from './service.ts';

const ROWS = 5_000_000;
const SLOW_BYTES_PER_SECOND = 1_000_000;
const SLOW_SECONDS = 20;

const execution = await publishedRows(ROWS);
await using service = await startService();
const connection = await duckDb(2);

function open(format: 'json' | 'csv', signal?: AbortSignal): Promise<Response> {
  const path = `/v1/execution/${execution}/results${format === 'csv' ? '/csv' : ''}`;
  return fetch(`${service.url}${path}?ignore_max_datapoints_per_request=true`, {
    headers: { 'x-service-api-key': service.key, 'accept-encoding': 'identity' },
    ...(signal !== undefined && { signal }),
  });
}

async function readAll(response: Response): Promise<number> {
  let bytes = 0;
  if (response.body !== null) for await (const chunk of response.body) bytes += chunk.byteLength;
  return bytes;
}

print(`the whole of a result of ${ROWS} rows × 10 columns`);
for (const format of ['json', 'csv'] as const) {
  await readAll(await open(format));
  const before = residentMegabytes(service.pid);
  const memory = watchMemory(service.pid);
  const start = performance.now();
  const bytes = await readAll(await open(format));
  const http = bytes / (performance.now() - start) / 1000;
  const grown = memory.stop() - before;
  const file = join(DATA, `whole.${format}`);
  const copyStart = performance.now();
  await connection.run(`COPY (${storedRowsSql(execution)}) TO '${file}' (FORMAT ${format})`);
  const copy = statSync(file).size / (performance.now() - copyStart) / 1000;
  report(
    `whole result as ${format.toUpperCase()} over HTTP / COPY to a file, MB/s`,
    http / copy,
    '≥ 0.6',
    `${http.toFixed(0)} MB/s / ${copy.toFixed(0)} MB/s, ${(bytes / 1e6).toFixed(0)} MB`,
  );
  report('  memory growth meanwhile / 400 MB', grown / 400, '< 1', `${grown.toFixed(0)} MB`);
}

const before = residentMegabytes(service.pid);
const memory = watchMemory(service.pid);
const gone = new AbortController();
const response = await open('json', gone.signal);
const reader = response.body?.getReader();
const end = performance.now() + SLOW_SECONDS * 1000;
while (reader !== undefined && performance.now() < end) {
  const { value, done } = await reader.read();
  if (done) break;
  await new Promise((resolve) => setTimeout(resolve, (value.byteLength / SLOW_BYTES_PER_SECOND) * 1000));
}
gone.abort();
const grown = memory.stop() - before;
report(
  `memory growth with a client of 1 MB/s for ${SLOW_SECONDS} s / 400 MB`,
  grown / 400,
  '< 1',
  `${grown.toFixed(0)} MB`,
);
connection.closeSync();
