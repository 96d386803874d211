import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openFolderDuckDb } from '../../../test/feature/folder-duckdb.ts';
import { parquetOptions } from '../../duckdb/parquet-options.ts';
import { measureBlocks } from './part-blocks.ts';

const { signal } = new AbortController();
const folder = await mkdtemp(join(tmpdir(), 'qrs-blocks-'));
const duckDb = await openFolderDuckDb(folder, 1);
after(async () => {
  await duckDb[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

for (const rows of [1, 100, 2047, 2048, 2049, 5000]) {
  test(`the row groups of a part of ${rows} rows lie where DuckDB says they lie`, async () => {
    const path = join(folder, `${rows}.parquet`);
    const select = `SELECT range AS c0, 'text ' || range AS c1, [range, NULL] AS c2 FROM range(${rows})`;
    await duckDb.query(
      { text: `COPY (${select}) TO '${path}' (${parquetOptions('zstd', 2048, 3)})`, values: [] },
      signal,
    );
    const { size: objectBytes } = await stat(path);
    const found = await measureBlocks(duckDb, { path, objectBytes, rowCount: rows }, signal);
    const text = `SELECT any_value(row_group_num_rows), max(total_compressed_size + least(data_page_offset, coalesce(nullif(dictionary_page_offset, 0), data_page_offset)))
      FROM parquet_metadata($1) GROUP BY row_group_id ORDER BY row_group_id`;
    const groups = (await duckDb.query({ text, values: [path] }, signal)).map((row) => row.map(Number));
    assert.deepEqual(
      found.rows,
      groups.map(([count]) => count),
    );
    const ends = found.bytes.map((_, i) => found.bytes.slice(0, i + 1).reduce((sum, bytes) => sum + bytes, 0));
    assert.deepEqual(ends, [...groups.map(([, end]) => end), objectBytes]);
  });
}
