/** Tables with more columns than DuckDB lets an expression be deep: published from each kind of file, read in each format. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { readCsv } from './csv-reader.ts';
import { getEnvelope } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { readParquet } from './parquet-reader.ts';

const COLUMNS = 1200;
const ROWS = 30;
const ALL = 'ignore_max_datapoints_per_request=true';

type Cell = number | string | boolean | null;

const NAMES = Array.from({ length: COLUMNS }, (_, column) => `col_${column}`);
const TYPES = ['bigint', 'varchar', 'double', 'boolean', 'date', 'timestamp(3)'];
const TABLE = Array.from({ length: ROWS }, (_, row) => NAMES.map((_, column) => cellAt(row, column)));

/** Columns of six kinds, all but the first with nulls. */
function cellAt(row: number, column: number): Cell {
  if (column > 0 && (row + column) % 11 === 0) return null;
  switch (column % 6) {
    case 0:
      return row * (column + 1);
    case 1:
      return `w${row % 7}, "${column}"`;
    case 2:
      return (row * column) / 4 + 0.125;
    case 3:
      return row % 2 === 0;
    case 4:
      return `2024-03-0${1 + ((row + column) % 9)}`;
    default:
      return `2024-03-05 10:00:${String(row).padStart(2, '0')}.${String(column % 1000).padStart(3, '0')}`;
  }
}

function objectOf(cells: readonly Cell[]): Readonly<Record<string, Cell>> {
  return Object.fromEntries(cells.map((value, column) => [NAMES[column] ?? '', value]));
}

function csvFile(): string {
  const field = (value: Cell) => (value === null ? '' : `"${String(value).replaceAll('"', '""')}"`);
  return [NAMES.join(','), ...TABLE.map((cells) => cells.map(field).join(','))].map((line) => `${line}\n`).join('');
}

const ndjsonFile = () => TABLE.map((cells) => `${JSON.stringify(objectOf(cells))}\n`).join('');

/** Made from the objects with the given types: no cell passes through the code under test. */
async function parquetFile(directory: string): Promise<Uint8Array> {
  const types = ['BIGINT', 'VARCHAR', 'DOUBLE', 'BOOLEAN', 'DATE', 'TIMESTAMP_MS'];
  const columns = NAMES.map((name, column) => `${name}: '${types[column % 6]}'`).join(', ');
  const [source, path] = [join(directory, 'wide.ndjson'), join(directory, 'wide.parquet')];
  await writeFile(source, ndjsonFile());
  const instance = await DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await instance.connect();
  const read = `read_json('${source}', format = 'newline_delimited', columns = {${columns}})`;
  await connection.run(`COPY (FROM ${read}) TO '${path}' (FORMAT parquet, STRING_DICTIONARY_PAGE_SIZE_LIMIT 16384)`);
  connection.closeSync();
  instance.closeSync();
  return await readFile(path);
}

async function bytesOf(service: HttpService, path: string): Promise<Uint8Array> {
  const response = await service.get(path);
  const bytes = new Uint8Array(await response.arrayBuffer());
  assert.equal(response.status, 200, Buffer.from(bytes).toString());
  return bytes;
}

for (const format of ['csv', 'ndjson', 'parquet'] as const) {
  test(`${COLUMNS} columns of ${format}`, async (t) => {
    const service = await startHttpService(t);
    const file = { csv: csvFile, ndjson: ndjsonFile, parquet: () => parquetFile(service.commandLine.directory) };
    const { id } = await service.publish(7, await file[format](), { format });
    const results = `/v1/execution/${id}/results`;
    const rows = TABLE.map(objectOf);

    const whole = await getEnvelope(service, `${results}?${ALL}`);
    assert.deepEqual(
      whole.result.metadata.column_types,
      // JSON texts stay text.
      NAMES.map((_, column) => (format === 'ndjson' && column % 6 >= 4 ? 'varchar' : TYPES[column % 6])),
    );
    assert.deepEqual(whole.result.rows, rows);

    const page = await getEnvelope(service, `${results}?limit=4&offset=20`);
    assert.deepEqual(page.result.rows, rows.slice(20, 24));
    assert.equal(page.next_offset, 24);

    const filter = encodeURIComponent(`col_0 between 3 and 9 and col_${COLUMNS - 1} is not null`);
    const found = rows.filter((row) => Number(row.col_0) >= 3 && Number(row.col_0) <= 9 && row.col_1199 !== null);
    assert.ok(found.length > 3);
    assert.deepEqual((await getEnvelope(service, `${results}?filters=${filter}`)).result.rows, found);
    const sorted = await getEnvelope(service, `${results}?sort_by=col_0%20desc&limit=5&offset=5`);
    assert.deepEqual(sorted.result.rows, rows.toReversed().slice(5, 10));

    const ndjson = Buffer.from(await bytesOf(service, `${results}?format=ndjson&${ALL}`)).toString();
    assert.deepEqual(
      ndjson
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
      rows,
    );
    const csv = readCsv(Buffer.from(await bytesOf(service, `${results}/csv?${ALL}`)).toString());
    assert.deepEqual(
      csv.map((line) => line.map(({ text }) => text)),
      [NAMES, ...TABLE.map((cells) => cells.map((value) => String(value ?? '')))],
    );
    const select = 'col_0, col_1, col_2, col_1198, col_1199';
    const parquet = await readParquet(await bytesOf(service, `${results}?format=parquet&${ALL}`), select);
    assert.equal(parquet.rows.length, ROWS);
    assert.deepEqual(
      parquet.rows.map(([first, text, double, date]) => [Number(first), text, double, date]),
      rows.map((row) => [row.col_0, row.col_1, row.col_2, row.col_1198]),
    );
  });
}

test('5,000 columns, written in changing order: those asked for, in the order asked', async (t) => {
  const service = await startHttpService(t);
  const names = Array.from({ length: 5000 }, (_, column) => `col_${column}`);
  const cell = (row: number, column: number) => (column % 2 === 0 ? row * column : { row, at: [column] });
  const members = (row: number) => names.map((name, column) => [name, cell(row, column)] as const);
  const rotated = (row: number) => [...members(row).slice(row * 700), ...members(row).slice(0, row * 700)];
  const lines = Array.from({ length: 6 }, (_, row) => `${JSON.stringify(Object.fromEntries(rotated(row)))}\n`);
  const { id } = await service.publish(7, lines.join(''), { format: 'ndjson' });
  const asked = Array.from({ length: 400 }, (_, index) => (index * 2003 + 4999) % 5000);
  const columns = asked.map((column) => names[column]).join(',');
  const page = await getEnvelope(service, `/v1/execution/${id}/results?columns=${columns}&offset=2&limit=3`);
  assert.deepEqual(page.result.metadata.column_names, columns.split(','));
  assert.deepEqual(
    page.result.rows,
    [2, 3, 4].map((row) => Object.fromEntries(asked.map((column) => [names[column], cell(row, column)]))),
  );
  const csv = await service.get(`/v1/execution/${id}/results/csv?columns=col_4999,col_0,col_4998&limit=2`);
  assert.equal(
    await csv.text(),
    'col_4999,col_0,col_4998\n"{""row"":0,""at"":[4999]}",0,0\n"{""row"":1,""at"":[4999]}",0,4998\n',
  );
  const unknown = await service.get(`/v1/execution/${id}/results?columns=col_5000`);
  assert.equal(unknown.status, 400);
  assert.match(await unknown.text(), /col_5000.*col_500/);
});

test('an error in a wide table also names the column and row of a value that does not fit', async (t) => {
  const service = await startHttpService(t);
  const names = Array.from({ length: 100 }, (_, column) => `col_${column}`);
  const line = (cells: readonly string[]) => `${cells.join(',')}\n`;
  const [good, bad] = [names.map(() => '7'), names.map((_, column) => (column === 61 ? '-8' : '9'))];
  const types = Object.fromEntries(names.map((name) => [name, 'uint256']));
  await assert.rejects(service.publish(7, [names, good, bad].map(line).join(''), { format: 'csv', types }), {
    name: 'PublishError',
    message: 'row 2, column "col_61": "-8" cannot be stored as uint256',
  });
});
