/**
 * Law of cutting: the files that a Parquet file is cut into, joined, have its rows; none has more rows than asked for, unless it is one row
 * group; and DuckDB finds in them what it finds in the whole, since what their footers say of minima and maxima is still true.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { openFolderDuckDb } from '../../../../test/feature/folder-duckdb.ts';
import type { DuckDb } from '../../../duckdb/duckdb.ts';
import { cutRowGroups } from './cut-row-groups.ts';

const CASES = Number(process.env.TEST_CASES ?? 12);
const ROW_GROUP_ROWS = 2048;
const never = new AbortController().signal;
/** Texts of few values (a dictionary) and of many, nulls, nested values, columns that are null throughout. */
const VALUES = `i AS c0, 'few ' || i % 3 AS c1, CASE WHEN i % 5 > 0 THEN md5(i::VARCHAR) END AS c2, i / 7::DOUBLE AS c3,
  [i, NULL, i + 1] AS c4, {'a': i, 'b': 'text ' || i} AS c5, NULL::VARCHAR AS c6, i::DECIMAL(30, 2) AS c7, encode('b' || i) AS c8,
  MAP {'k' || i % 4: i} AS c9, TIMESTAMPTZ '2024-01-01 00:00:00Z' + to_seconds(i) AS c10, i % 2 = 0 AS c11`;

let directory: string;
let duckDb: DuckDb;
let made = 0;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'qrs-cut-'));
  duckDb = await openFolderDuckDb(directory, 2);
});

after(async () => {
  await duckDb[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

async function wholeOf(rows: number, compression: string): Promise<string> {
  made += 1;
  const path = join(directory, `whole-${made}.parquet`);
  const options = `FORMAT parquet, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, COMPRESSION ${compression}, WRITE_BLOOM_FILTER false`;
  await duckDb.query(
    { text: `COPY (SELECT ${VALUES} FROM range(${rows}) r(i)) TO '${path}' (${options})`, values: [] },
    never,
  );
  return path;
}

async function cut(whole: string, rowsMax: number) {
  const folder = `${whole}-cut-${rowsMax}`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  await using source = await open(whole);
  return await cutRowGroups(source, rowsMax, (file) => join(folder, `part-${file}.parquet`), never);
}

async function hashOf(paths: readonly string[], where = ''): Promise<readonly unknown[]> {
  // Every row with its place, so rows in another order have another hash.
  const rows = paths.map(
    (path, file) => `SELECT ${file} AS file, * FROM read_parquet('${path}', file_row_number = true)`,
  );
  const ordered = `SELECT * EXCLUDE (file, file_row_number), row_number() OVER (ORDER BY file, file_row_number) AS place FROM (${rows.join(' UNION ALL ')}) ${where}`;
  const [row] = await duckDb.query(
    { text: `SELECT count(*), bit_xor(hash(t)) FROM (${ordered}) t`, values: [] },
    never,
  );
  return (row ?? []).map(String);
}

test('files that are cut from a file, joined, are the file', async () => {
  const seed = Number(process.env.TEST_SEED ?? Date.now() % 2 ** 31);
  const layouts = fc.record({
    rows: fc.integer({ min: 1, max: 9 * ROW_GROUP_ROWS }),
    rowsMax: fc.integer({ min: 1, max: 6 * ROW_GROUP_ROWS }),
    compression: fc.constantFrom('lz4_raw', 'zstd', 'uncompressed'),
  });
  await fc
    .assert(
      fc.asyncProperty(layouts, async ({ rows, rowsMax, compression }) => {
        const whole = await wholeOf(rows, compression);
        const files = await cut(whole, rowsMax);
        assert.equal(
          files.reduce((sum, { rowCount }) => sum + rowCount, 0),
          rows,
        );
        assert.ok(files.every(({ rowCount }) => rowCount > 0 && rowCount <= Math.max(rowsMax, ROW_GROUP_ROWS)));
        const paths = files.map(({ path }) => path);
        assert.deepEqual(await hashOf(paths), await hashOf([whole]));
        for (const where of [
          `WHERE c0 = ${rows >> 1}`,
          `WHERE c2 = md5('${rows >> 2}')`,
          'WHERE c7 > 4000',
          "WHERE c1 = 'few 2'",
        ]) {
          assert.deepEqual(await hashOf(paths, where), await hashOf([whole], where), where);
        }
      }),
      { numRuns: CASES, seed },
    )
    .catch((error: Error) => assert.fail(`seed ${seed}: ${error.message}`));
});

test('a file of nine row groups, cut at four', async () => {
  const whole = await wholeOf(9 * ROW_GROUP_ROWS - 100, 'zstd');
  const files = await cut(whole, 4 * ROW_GROUP_ROWS);
  assert.deepEqual(
    files.map(({ rowCount }) => rowCount),
    [8192, 8192, 1948],
  );
  // Nothing is copied twice: together they are as large as the whole but for their footers.
  const sizes = await Promise.all(files.map(async ({ path }) => (await stat(path)).size));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(bytes < 1.05 * (await stat(whole)).size, `${bytes}`);
});

test('a file that breaks off, or is none, is refused', async () => {
  const whole = await wholeOf(3 * ROW_GROUP_ROWS, 'zstd');
  const bytes = await readFile(whole);
  const short = `${whole}.short`;
  await writeFile(short, bytes.subarray(0, bytes.length - 1));
  await assert.rejects(cut(short, 5000), /it has no footer/);
  // Its footer says that the first row group begins behind the second.
  const footerBytes = bytes.readUInt32LE(bytes.length - 8);
  const hollow = `${whole}.hollow`;
  await writeFile(hollow, Buffer.concat([bytes.subarray(0, 100), bytes.subarray(bytes.length - 8 - footerBytes)]));
  await assert.rejects(cut(hollow, 5000), /not as expected|compact protocol/);
});

test('the cutting ends where its signal says so', async () => {
  const whole = await wholeOf(3 * ROW_GROUP_ROWS, 'zstd');
  await using source = await open(whole);
  const gone = AbortSignal.abort(new Error('nobody waits for the view any more'));
  const cutting = cutRowGroups(source, 5000, (file) => `${whole}.${file}`, gone);
  await assert.rejects(cutting, /nobody waits/);
});
