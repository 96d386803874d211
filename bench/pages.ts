/**
 * Pages over HTTP. Uncached: a full page (25,000 rows × 10 columns = 250,000 datapoints) as JSON and CSV against DuckDB's own COPY
 * of the same rows to a file, and 100 rows at a deep offset against offset 0. The same page again: requests a second against a
 * bare Fastify route that sends the same bytes, of 7 KB and of 700 KB, plain and compressed; and answers without a body (304).
 */
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { countBytes } from './count-bytes.ts';
import { type Load, load } from './load.ts';
import { medianPair, print, quantile, report } from './measure.ts';
import { DATA, duckDb, publishedRows, type Service, startBareServer, startService, storedRowsSql } from './service.ts';

const ROWS = 10_000_000;
const PAGE = 25_000;
/** Rows of a stored part: 61 row groups of 16,384. */
const PART_ROWS = 999_424;
const HOT_ROWS = [25, 2500] as const;
/** Full pages until the cache of finished pages is full. Before that, each page is the first to use its memory, which takes time. */
const SETTLING_PAGES = 60;
/** Until V8 has compiled all that a hot page takes: some 200,000 requests. */
const SETTLING = { warmUpMillis: 4000, millis: 100 } as const;
const TURNS = 9;
const TURN = { warmUpMillis: 200, millis: 1000 } as const;

const execution = await publishedRows(ROWS);
const connection = await duckDb(2);
const agent = new Agent({ keepAlive: true });

print(`pages of a result of ${ROWS} rows × 10 columns`);
await fromParts();
await using service = await startService();
print('with row files, which are built meanwhile in a process of lowest priority:');
await fullPages(service);
connection.closeSync();
for (const rows of HOT_ROWS) await hotPage(rows);

async function fetchPage(from: Service, format: 'json' | 'csv', offset: number, limit: number): Promise<void> {
  const path = `/v1/execution/${execution}/results${format === 'csv' ? '/csv' : ''}?limit=${limit}&offset=${offset}`;
  await countBytes(from.url + path, { agent, headers: { 'x-service-api-key': from.key } });
}

async function get(path: string): Promise<{ readonly bytes: Uint8Array; readonly etag: string }> {
  const response = await fetch(service.url + path, {
    headers: { 'x-service-api-key': service.key, 'accept-encoding': 'identity' },
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  return { bytes, etag: response.headers.get('etag') ?? '' };
}

/** On a service without row files: there those of the first rows would be built before those of the last (`rowfiles`). */
async function fromParts(): Promise<void> {
  await using parts = await startService({ QRS_ROW_FILES: 'off' });
  const firstTouches: number[] = [];
  for (let firstRow = 0; firstRow < ROWS; firstRow += PART_ROWS) {
    const start = performance.now();
    await fetchPage(parts, 'json', firstRow, 1);
    firstTouches.push(performance.now() - start);
  }
  print(`  first touch of a part, whose checksum is then verified: ${quantile(firstTouches, 0.5).toFixed(0)} ms`);
  await fullPages(parts);
  const [deep, shallow] = await medianPair(
    41,
    (run) => fetchPage(parts, 'json', 9_000_000 + run * 100, 100),
    (run) => fetchPage(parts, 'json', run * 100, 100),
  );
  report(
    '100 rows at offset 9,000,000 / at offset 0',
    deep / shallow,
    '≤ 1.3',
    `${deep.toFixed(1)} ms / ${shallow.toFixed(1)} ms`,
  );
}

async function fullPages(from: Service): Promise<void> {
  for (let page = 0; page < SETTLING_PAGES; page += 1) await fetchPage(from, 'json', page * 4 * PAGE + 1, PAGE);
  for (const format of ['json', 'csv'] as const) {
    // Each run asks for another page, so that no answer can come from a cache; the rows of a run are the same for both.
    const firstRow = (run: number) => (run * 37 * PAGE) % (ROWS - PAGE);
    const [http, copy] = await medianPair(
      21,
      (run) => fetchPage(from, format, firstRow(run), PAGE),
      (run) => connection.run(copyOfPage(format, firstRow(run))),
    );
    report(
      `full ${format.toUpperCase()} page over HTTP / COPY to a file`,
      http / copy,
      '≤ 1.5',
      `${http.toFixed(1)} ms / ${copy.toFixed(1)} ms`,
    );
  }
}

function copyOfPage(format: 'json' | 'csv', firstRow: number): string {
  const part = Math.floor(firstRow / PART_ROWS);
  const from = firstRow - part * PART_ROWS;
  const where = `WHERE file_index = ${part} AND file_row_number >= ${from} AND file_row_number < ${from + PAGE}`;
  return `COPY (${storedRowsSql(execution, where)}) TO '${join(DATA, `page.${format}`)}' (FORMAT ${format})`;
}

/**
 * The same page again and again, and a bare route with its bytes, in turn. The kernel copies 7 KB to a socket in 0.5 or in 5 µs,
 * depending on where the memory of a turn's connections lies. So there are several turns, and the median counts. The best are printed,
 * too.
 */
async function hotPage(rows: number): Promise<void> {
  const path = `/v1/execution/${execution}/results?limit=${rows}`;
  const { bytes, etag } = await get(path);
  const file = join(DATA, 'hot-page.json');
  writeFileSync(file, bytes);
  await using bare = await startBareServer(file);
  const headers = { 'x-service-api-key': service.key };
  const size = `${Math.round(bytes.byteLength / 1000)} KB`;
  for (const encoding of ['plain', 'gzip'] as const) {
    const accepting = encoding === 'gzip' ? { ...headers, 'accept-encoding': 'gzip' } : headers;
    const askUs = { url: service.url, path, headers: accepting };
    const askThem = { url: bare.url, path: `/${encoding}`, headers: accepting };
    const ours: Load[] = [];
    const theirs: Load[] = [];
    await load({ ...askUs, ...SETTLING });
    await load({ ...askThem, ...SETTLING });
    for (let turn = 0; turn < TURNS; turn += 1) {
      ours.push(await load({ ...askUs, ...TURN }));
      theirs.push(await load({ ...askThem, ...TURN }));
    }
    const [hot, floor] = [perSecond(ours, 0.5), perSecond(theirs, 0.5)];
    const best = perSecond(ours, 1) / perSecond(theirs, 1);
    const [p50, p99] = [ours.map((turn) => turn.p50), ours.map((turn) => turn.p99)].map((millis) =>
      quantile(millis, 0.5).toFixed(2),
    );
    report(
      `the same page again, ${size} ${encoding} / a bare Fastify route`,
      hot / floor,
      '≥ 0.8',
      `${hot.toFixed(0)}/s / ${floor.toFixed(0)}/s, p50 ${p50} ms, p99 ${p99} ms; best turns ${best.toFixed(2)} ×`,
    );
  }
  const unchanged = await load({ url: service.url, path, headers: { ...headers, 'if-none-match': etag } }, '304');
  print(`  unchanged (304) to If-None-Match: ${unchanged.perSecond.toFixed(0)}/s, p50 ${unchanged.p50.toFixed(2)} ms`);
}

function perSecond(loads: readonly Load[], q: number): number {
  return quantile(
    loads.map((turn) => turn.perSecond),
    q,
  );
}
