/** The law of wide rows: many columns encoded and measured together give what they give a few at a time. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { totalBytesOf } from '../../src/duckdb/cell-bytes.ts';
import type { DuckDb } from '../../src/duckdb/duckdb.ts';
import { FEW_COLUMNS_MAX } from '../../src/duckdb/few-columns.ts';
import { storedColumn } from '../../src/duckdb/storage-type.ts';
import { compileRange } from '../../src/results/compile/range.ts';
import type { ProjectedColumn } from '../../src/results/compile/row-encoding.ts';
import type { TextFormat } from '../../src/results/request/format.ts';
import { startFolderDuckDb } from './folder-duckdb.ts';
import { Random, randomResult, storeAs } from './random-results.ts';

const CASES = Number(process.env.TEST_CASES ?? 2);
const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const signal = new AbortController().signal;

async function rowOf(
  duckDb: DuckDb,
  columns: readonly ProjectedColumn[],
  format: TextFormat,
  path: string,
  at: number,
) {
  const statement = compileRange({ columns, format }, { path, from: at, to: at + 1 }, 'safe');
  const [[bytes, , cellBytes] = []] = await duckDb.query(statement, signal);
  return { text: Buffer.from(bytes as Uint8Array).toString(), cellBytes: Number(cellBytes) };
}

async function totalOf(duckDb: DuckDb, columns: readonly ProjectedColumn[], path: string): Promise<number> {
  const types = columns.map(({ type }) => type);
  const bytes = totalBytesOf(types, (position) => storedColumn(columns[position]?.index ?? -1));
  const [[total] = []] = await duckDb.query({ text: `SELECT ${bytes} FROM read_parquet($1)`, values: [path] }, signal);
  return Number(total);
}

/** A row's text, put together from texts of a few of its columns each. */
function together(texts: readonly string[], format: TextFormat): string {
  return format === 'csv' ? texts.join(',') : `{${texts.map((text) => text.slice(1, -1)).join(',')}}`;
}

test(`rows of many columns of every type (seed ${SEED})`, async (t) => {
  const { duckDb, folder: directory } = await startFolderDuckDb(t, 1);
  for (let index = 0; index < CASES; index += 1) {
    const random = new Random(SEED + index);
    const result = randomResult(random, FEW_COLUMNS_MAX + 1 + random.below(60), 3);
    const path = join(directory, `${index}.parquet`);
    await duckDb.query({ text: storeAs(result, path), values: [] }, signal);
    const columns = result.columns.map((column, at) => ({ ...column, index: at }));
    // In another order than stored, as `columns=` may ask for them.
    if (random.chance(50)) columns.reverse();
    const groups = [columns.slice(0, 90), columns.slice(90, 170), columns.slice(170)];
    for (const format of ['json', 'csv'] as const) {
      for (const at of result.rows.keys()) {
        const whole = await rowOf(duckDb, columns, format, path, at);
        const few = await Promise.all(groups.map((group) => rowOf(duckDb, group, format, path, at)));
        assert.deepEqual(whole, {
          text: together(
            few.map(({ text }) => text),
            format,
          ),
          cellBytes: few.reduce((sum, { cellBytes }) => sum + cellBytes, 0),
        });
      }
    }
    const totals = await Promise.all(groups.map((group) => totalOf(duckDb, group, path)));
    assert.equal(
      await totalOf(duckDb, columns, path),
      totals.reduce((sum, total) => sum + total, 0),
    );
  }
});

test('a row of 5,000 columns in each format', async (t) => {
  const { duckDb, folder: directory } = await startFolderDuckDb(t, 1);
  const path = join(directory, 'part.parquet');
  const types = [{ kind: 'varchar' }, { kind: 'bigint' }] as const;
  const columns = Array.from({ length: 5000 }, (_, index) => ({
    name: `col ${index}`,
    type: types[index % 2] ?? types[0],
    index,
  }));
  const cells = columns.map(({ index }) => `${index % 2 === 0 ? `'a,' || ${index}` : `${index}::BIGINT`} AS c${index}`);
  await duckDb.query({ text: `COPY (SELECT ${cells.join(', ')}) TO '${path}' (FORMAT parquet)`, values: [] }, signal);
  const values = columns.map(({ name, index }) => [name, index % 2 === 0 ? `a,${index}` : index] as const);
  const json = await rowOf(duckDb, columns, 'json', path, 0);
  assert.equal(json.text, JSON.stringify(Object.fromEntries(values)));
  const csv = await rowOf(duckDb, columns, 'csv', path, 0);
  assert.equal(csv.text, values.map(([, value]) => (typeof value === 'string' ? `"${value}"` : value)).join(','));
  const texts = values.flatMap(([, value]) => (typeof value === 'string' ? [value.length] : []));
  const bytes = 2500 * 8 + texts.reduce((sum, length) => sum + length, 0);
  assert.deepEqual([json.cellBytes, csv.cellBytes], [bytes, bytes]);
});
