/** Several DuckDBs in one folder, and one that takes another's place. */
import assert from 'node:assert/strict';
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { sleep } from '../../test/real-time.ts';
import { DuckDb, type DuckDbOptions } from './duckdb.ts';

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-instance-'));
  t.after(async () => await rm(folder, { recursive: true, force: true }));
  return folder;
}

async function open(
  t: TestContext,
  folder: string,
  memoryLimit: string,
  options: Partial<DuckDbOptions> = {},
): Promise<DuckDb> {
  const duckDb = await DuckDb.open({
    threads: 1,
    memoryLimit,
    tempDirectory: folder,
    tempSizeMax: '2GB',
    sleep,
    allowedDirectories: [folder],
    ...options,
  });
  t.after(async () => await duckDb[Symbol.asyncDispose]());
  return duckDb;
}

/** 1.5 million rows, sorted, which takes more than 60 MB: how many there are, how many hold what was put in, and how many are in order. */
const sort = (salt: number) => ({
  text: `
    SELECT count(*)::INTEGER, count(*) FILTER (v = md5(k::VARCHAR))::INTEGER, count(*) FILTER (k >= before)::INTEGER FROM (
      SELECT k, v, lag(k, 1, -1::BIGINT) OVER () AS before FROM (
        SELECT k, md5(k::VARCHAR) AS v FROM (SELECT (i * 7919 + ${salt}) % 1000003 AS k FROM range(1500000) r(i)) ORDER BY k))`,
  values: [],
});

test('two that spill into the same folder at the same time do not touch what the other has there', async (t) => {
  const folder = await folderOf(t);
  const [one, two] = [await open(t, folder, '60MB'), await open(t, folder, '60MB')];
  const sorted = await Promise.all([one.query(sort(1), t.signal), two.query(sort(2), t.signal)]);
  const whole = [[1_500_000, 1_500_000, 1_500_000]];
  assert.deepEqual(sorted, [whole, whole]);
  await Promise.all([one[Symbol.asyncDispose](), two[Symbol.asyncDispose]()]);
  assert.deepEqual(await readdir(folder), []);
});

test('what it spills into may be removed at any time: it is there again for the next statements', async (t) => {
  const folder = join(await folderOf(t), 'tmp');
  const duckDb = await open(t, folder, '60MB');
  const whole = [[1_500_000, 1_500_000, 1_500_000]];
  await rm(folder, { recursive: true });
  assert.deepEqual(await duckDb.query(sort(1), t.signal), whole);
  await rm(folder, { recursive: true });
  const sorted = await Promise.all([duckDb.query(sort(2), t.signal), duckDb.query(sort(3), t.signal)]);
  assert.deepEqual(sorted, [whole, whole]);
});

test('no more is spilled than may be, however much room the disk has', async (t) => {
  const folder = await folderOf(t);
  const duckDb = await open(t, folder, '60MB', { tempSizeMax: '1MB' });
  await assert.rejects(
    duckDb.query(sort(1), t.signal),
    /Out of Memory Error: failed to offload data block .*976\.5 KiB/,
  );
});

test('one that keeps the footers of too many files makes way for another; statements that run meanwhile end as ever', async (t) => {
  const folder = await folderOf(t);
  const duckDb = await open(t, folder, '1GB', { footersBytesMax: 300_000 });
  const file = join(folder, 'rows.parquet');
  const columns = Array.from({ length: 10 }, (_, c) => `'v' || i AS c${c}`).join(', ');
  const copy = `COPY (SELECT ${columns} FROM range(50000) r(i)) TO '${file}' (FORMAT parquet, ROW_GROUP_SIZE 2048)`;
  await duckDb.query({ text: copy, values: [] }, t.signal);
  const planned = (value: string) =>
    duckDb.queryPlanned({ text: 'SELECT upper(CAST($1 AS VARCHAR))', values: [value] }, t.signal);
  const sorting = duckDb.query(sort(3), t.signal);
  let most = 0;
  for (let n = 0; n < 450; n += 1) {
    // Each is another file, as far as DuckDB knows.
    const path = join(folder, `copy-${n}.parquet`);
    await copyFile(file, path);
    const text = `SELECT c3 FROM read_parquet('${path}') WHERE file_row_number = ${n}`;
    assert.deepEqual(await duckDb.query({ text, values: [] }, t.signal), [[`v${n}`]]);
    assert.deepEqual(await planned(`p${n}`), [[`P${n}`]]);
    await rm(path);
    most = Math.max(most, await footerBytes(duckDb, t.signal));
  }
  assert.deepEqual(await sorting, [[1_500_000, 1_500_000, 1_500_000]]);
  // 35 KB each: 16 MB without another. It is looked at after 50 statements, three of which there are for each file here.
  assert.ok(most > 300_000 && most < 5_000_000, `${most} bytes of footers`);
  await duckDb[Symbol.asyncDispose]();
  assert.deepEqual(await readdir(folder), ['rows.parquet']);
});

async function footerBytes(duckDb: DuckDb, signal: AbortSignal): Promise<number> {
  const text = "SELECT sum(memory_usage_bytes)::DOUBLE FROM duckdb_memory() WHERE tag = 'OBJECT_CACHE'";
  const [row] = await duckDb.query({ text, values: [] }, signal);
  return Number(row?.[0] ?? 0);
}
