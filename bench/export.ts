/**
 * A whole result over HTTP, streamed: throughput against DuckDB's COPY of the same rows to a file, and how much memory the
 * service takes meanwhile, also with a client that reads one megabyte a second. Then a download of about 2 GB that breaks off in
 * the middle and is continued (Range): whether the two halves are the whole, and how long the second half took to begin.
 */
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { print, report, residentMegabytes, watchMemory } from './measure.ts';
import { DATA, duckDb, publishedRows, startService, storedRowsSql } from './service.ts';

const ROWS = 5_000_000;
const SLOW_BYTES_PER_SECOND = 1_000_000;
const SLOW_SECONDS = 20;
/** As JSON a little more than 2 GB. */
const RESUMED_ROWS = 10_000_000;

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
await resume();

async function resume(): Promise<void> {
  const url = `${service.url}/v1/execution/${await publishedRows(RESUMED_ROWS)}/results?ignore_max_datapoints_per_request=true`;
  const headers = { 'x-service-api-key': service.key, 'accept-encoding': 'identity' };
  const whole = await fetch(url, { headers });
  const etag = whole.headers.get('etag') ?? '';
  const wholeHash = createHash('sha256');
  let size = 0;
  const wholeStart = performance.now();
  for await (const chunk of whole.body ?? []) {
    wholeHash.update(chunk);
    size += chunk.byteLength;
  }
  const wholeSeconds = (performance.now() - wholeStart) / 1000;
  const half = Math.floor(size / 2);
  const hash = createHash('sha256');

  const broken = new AbortController();
  const first = await fetch(url, { headers, signal: broken.signal });
  let read = 0;
  const firstStart = performance.now();
  for await (const chunk of first.body ?? []) {
    const taken = chunk.subarray(0, half - read);
    hash.update(taken);
    read += taken.byteLength;
    if (read === half) break;
  }
  broken.abort();
  const firstSeconds = (performance.now() - firstStart) / 1000;

  const start = performance.now();
  const rest = await fetch(url, { headers: { ...headers, range: `bytes=${read}-`, 'if-range': etag } });
  if (rest.status !== 206) {
    await rest.body?.cancel();
    print(`  a download continued with Range: not supported (status ${rest.status})`);
    return;
  }
  let beginning: number | undefined;
  for await (const chunk of rest.body ?? []) {
    beginning ??= performance.now() - start;
    hash.update(chunk);
    read += chunk.byteLength;
  }
  const seconds = firstSeconds + (performance.now() - start) / 1000;
  const same = hash.digest('hex') === wholeHash.digest('hex') && read === size;
  report(
    `a download of ${(size / 1e9).toFixed(2)} GB broken in the middle and continued / one piece`,
    seconds / wholeSeconds,
    '≤ 1.2',
    `${seconds.toFixed(1)} s / ${wholeSeconds.toFixed(1)} s, ${same ? 'byte-identical' : 'NOT the same bytes'}, the rest begins after ${(beginning ?? Number.NaN).toFixed(0)} ms`,
  );
}
