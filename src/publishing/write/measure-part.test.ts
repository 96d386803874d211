import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openFolderDuckDb } from '../../../test/feature/folder-duckdb.ts';
import { parseColumnType } from '../../domain/column-type.ts';
import { parquetOptions } from '../../duckdb/parquet-options.ts';
import { measurePart } from './measure-part.ts';

const { signal } = new AbortController();
const folder = await mkdtemp(join(tmpdir(), 'qrs-measure-'));
const duckDb = await openFolderDuckDb(folder, 1);
after(async () => {
  await duckDb[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const ROWS = 40_000;
const TYPES = ['bigint', 'varchar', 'double', 'boolean', 'uint256', 'array(integer)', 'timestamp(6)'].map(
  parseColumnType,
);
/** What a row with no nulls takes: 8 + 32 + 8 + 1 + 32 + 2 × 4 + 8. */
const FULL = 97;

/** @param nulls SQL of when a column of that place is null */
async function write(name: string, nulls: Readonly<Record<number, string>>): Promise<string> {
  const values = [
    '(hash(i) >> 1)::BIGINT',
    'md5(i::VARCHAR)',
    'i / 7',
    'i % 2 = 0',
    `repeat('9', 78)`,
    '[i, i]',
    'make_timestamp(i)',
  ];
  const columns = values.map((sql, c) => `CASE WHEN ${nulls[c] ?? 'false'} THEN NULL ELSE ${sql} END AS c${c}`);
  const path = join(folder, name);
  const from = `(SELECT range::INTEGER AS i FROM range(${ROWS}))`;
  const select = `SELECT ${columns.join(', ')} FROM ${from}`.replace(
    '(hash(i) >> 1)::BIGINT',
    '(hash(i) >> 1)::BIGINT',
  );
  await duckDb.query(
    { text: `COPY (${select}) TO '${path}' (${parquetOptions('zstd', 2048, 7)})`, values: [] },
    signal,
  );
  return path;
}

const cases = [
  { title: 'no nulls at all', nulls: {}, bytes: ROWS * FULL, rowMax: FULL },
  { title: 'a null in the last row alone', nulls: { 0: `i = ${ROWS - 1}` }, bytes: ROWS * FULL - 8, rowMax: FULL },
  // Every row lacks one of the two, so none takes all 97.
  { title: 'nulls by turns', nulls: { 2: 'i % 2 = 0', 4: 'i % 2 = 1' }, bytes: ROWS * (FULL - 20), rowMax: FULL - 8 },
  { title: 'a column of nulls', nulls: { 3: 'true', 6: 'true' }, bytes: ROWS * (FULL - 9), rowMax: FULL - 9 },
] as const;

for (const { title, nulls, bytes, rowMax } of cases) {
  test(`the cell bytes of a part of many row groups: ${title}`, async () => {
    const path = await write(`${title.replaceAll(' ', '-')}.parquet`, nulls);
    assert.ok((await stat(path)).size > 1024 * 1024, 'a part of which nulls are asked first');
    const part = await measurePart(duckDb, { path, firstRow: 0, types: TYPES, bloomBytesMin: 0 }, signal);
    assert.equal(part.rowCount, ROWS);
    assert.equal(part.cellBytes, bytes);
    assert.equal(part.rowBytesMax, rowMax);
  });
}
