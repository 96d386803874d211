/**
 * Pages over HTTP, uncached: a full page (25,000 rows × 10 columns = 250,000 datapoints) as JSON and CSV against DuckDB's own
 * COPY of the same rows to a file, and 100 rows at a deep offset against offset 0.
 */
import { join } from 'node:path';
import { medianPair, print, report } from './measure.ts';
import { DATA, duckDb, publishedRows, startService, storedRowsSql } from './service.ts';

const ROWS = 10_000_000;
const PAGE = 25_000;

const execution = await publishedRows(ROWS);
await using service = await startService();
const connection = await duckDb(2);

async function fetchPage(format: 'json' | 'csv', offset: number, limit: number): Promise<number> {
  const path = `/v1/execution/${execution}/results${format === 'csv' ? '/csv' : ''}`;
  const response = await fetch(`${service.url}${path}?limit=${limit}&offset=${offset}`, {
    headers: { 'x-service-api-key': service.key, 'accept-encoding': 'identity' },
  });
  const bytes = (await response.arrayBuffer()).byteLength;
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  return bytes;
}

print(`pages of a result of ${ROWS} rows × 10 columns`);
for (const format of ['json', 'csv'] as const) {
  // Each run asks for another page, so that no answer can come from a cache; the rows of a run are the same for both.
  const firstRow = (run: number) => (run * 37 * PAGE) % (ROWS - PAGE);
  const [http, copy] = await medianPair(
    21,
    (run) => fetchPage(format, firstRow(run), PAGE),
    (run) => {
      const part = Math.floor(firstRow(run) / 999_424);
      const from = firstRow(run) - part * 999_424;
      const where = `WHERE file_index = ${part} AND file_row_number >= ${from} AND file_row_number < ${from + PAGE}`;
      return connection.run(
        `COPY (${storedRowsSql(execution, where)}) TO '${join(DATA, `page.${format}`)}' (FORMAT ${format})`,
      );
    },
  );
  report(
    `full ${format.toUpperCase()} page over HTTP / COPY to a file`,
    http / copy,
    '≤ 1.5',
    `${http.toFixed(1)} ms / ${copy.toFixed(1)} ms`,
  );
}
const [deep, shallow] = await medianPair(
  41,
  (run) => fetchPage('json', 9_000_000 + run * 100, 100),
  (run) => fetchPage('json', run * 100, 100),
);
report(
  '100 rows at offset 9,000,000 / at offset 0',
  deep / shallow,
  '≤ 1.3',
  `${deep.toFixed(1)} ms / ${shallow.toFixed(1)} ms`,
);
connection.closeSync();
