/**
 * Tables of 500, 1,000 and 5,000 columns with the same number of cells: publishing, against DuckDB's own conversion of the file, and
 * pages. Growth is seconds for each cell against the narrowest table; about 1 means that the time grows no faster than the columns.
 */
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { medianMillis, print, report } from './measure.ts';
import { DATA, duckDb, publishedRows, qrs, startService } from './service.ts';

const CELLS = 250_000;
const COLUMNS = [500, 1000, 5000] as const;
const PAGES = [
  '',
  '?limit=20&format=ndjson',
  '/csv?limit=20',
  '?limit=20&format=parquet',
  '?limit=20&sort_by=col_1',
] as const;
const FORMATS = ['csv', 'json', 'parquet'] as const;

function cell(column: number): string {
  const of = [
    `i * ${column}`,
    `'w' || (i * 7919 % 1000)`,
    `i * ${column} / 4`,
    'i % 2 = 0',
    `DATE '2024-01-01' + i::INTEGER`,
  ];
  return `${of[column % of.length]} AS col_${column}`;
}

await publishedRows(1000);
mkdirSync(DATA, { recursive: true });
const connection = await duckDb(1);
const published = new Map<number, string>();
for (const format of FORMATS) {
  let narrowest: number | undefined;
  for (const columns of COLUMNS) {
    const path = join(DATA, `wide-${columns}.${format === 'json' ? 'ndjson' : format}`);
    const cells = Array.from({ length: columns }, (_, column) => cell(column)).join(', ');
    await connection.run(`COPY (SELECT ${cells} FROM range(${CELLS / columns}) r(i)) TO '${path}' (FORMAT ${format})`);
    const start = performance.now();
    published.set(columns, await qrs(['publish', path, '--query', '1000']));
    const seconds = (performance.now() - start) / 1000;
    const floorStart = performance.now();
    await connection.run(
      `COPY (FROM '${path}') TO '${join(DATA, 'floor.parquet')}' (FORMAT parquet, COMPRESSION zstd)`,
    );
    const floor = (performance.now() - floorStart) / 1000;
    narrowest ??= seconds;
    report(
      `publish ${columns} columns of ${format} / ${COLUMNS[0]} of as many cells`,
      seconds / narrowest,
      '≤ 1.5',
      `${seconds.toFixed(1)} s, ${(statSync(path).size / 1e6).toFixed(1)} MB; ${(seconds / floor).toFixed(1)} × COPY`,
    );
  }
}
await using service = await startService();
for (const page of PAGES) {
  let narrowest: number | undefined;
  for (const columns of COLUMNS) {
    const url = `${service.url}/v1/execution/${published.get(columns)}/results${page}`;
    const read = async (run: number) => {
      const separator = page.includes('?') ? '&' : '?';
      const response = await fetch(`${url}${separator}offset=${run}`, {
        headers: { 'x-service-api-key': service.key },
      });
      const bytes = await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`${response.status} ${Buffer.from(bytes).toString().slice(0, 200)}`);
    };
    const millis = (await medianMillis(3, read)) / columns;
    narrowest ??= millis;
    const what = `page ${page === '' ? 'of 250,000 datapoints' : page}, ${columns} columns`;
    report(what, millis / narrowest, '≤ 1.5', `${(millis * columns).toFixed(0)} ms`);
  }
}
print('growth: time for each column against that of the narrowest table');
connection.closeSync();
