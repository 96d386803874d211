import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { sleep } from '../../test/real-time.ts';
import { DuckDb } from './duckdb.ts';

test("values of fixed width come in DuckDB's own bytes, over several chunks; other types are refused", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-vectors-'));
  t.after(async () => await rm(directory, { recursive: true }));
  await using duckDb = await DuckDb.open({
    threads: 1,
    memoryLimit: '128MB',
    tempDirectory: directory,
    tempSizeMax: '0B',
    allowedDirectories: [directory],
    sleep,
  });
  const columns = async (text: string) =>
    (await duckDb.fixedColumns({ text, values: [] }, t.signal)).map((bytes) => Buffer.from(bytes).toString('hex'));
  assert.deepEqual(
    await columns(`SELECT true, -2::TINYINT, 258::SMALLINT, -2::INTEGER, 258::BIGINT, 1.5::FLOAT, -0.25::DOUBLE`),
    ['01', 'fe', '0201', 'feffffff', '0201000000000000', '0000c03f', '000000000000d0bf'],
  );
  assert.deepEqual(
    await columns(`SELECT 2.58::DECIMAL(4, 2), 2.58::DECIMAL(9, 2), 2.58::DECIMAL(18, 2), -1::DECIMAL(38, 0),
      DATE '1970-01-03', TIME '00:00:00.000258', make_timestamp(258), '80000000-0000-0000-0000-000000000001'::UUID`),
    [
      ...['0201', '02010000', '0201000000000000', 'f'.repeat(32), '02000000', '0201000000000000', '0201000000000000'],
      // DuckDB inverts the first bit, to order UUIDs as signed numbers.
      '01000000000000000000000000000000',
    ],
  );
  const [rows] = await columns('SELECT range::INTEGER FROM range(5000)');
  assert.equal(rows?.length, 5000 * 8);
  assert.equal(rows?.slice(-8), '87130000');
  await assert.rejects(columns(`SELECT 'text'`), { message: 'values of VARCHAR have no fixed width' });
});
