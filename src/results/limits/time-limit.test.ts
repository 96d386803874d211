/** What the error of a time limit says: the limit, and why the read may have been slow. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FakeTime } from '../../../test/fake-time.ts';
import { openFolderDuckDb } from '../../../test/feature/folder-duckdb.ts';
import type { DuckDb } from '../../duckdb/duckdb.ts';
import { withinMillis } from './time-limit.ts';

const never = new AbortController().signal;

async function open(t: TestContext): Promise<DuckDb> {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-limit-'));
  const duckDb = await openFolderDuckDb(directory, 1, '64MB');
  t.after(async () => {
    await duckDb[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });
  return duckDb;
}

/** Asks again until it holds. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}

/** Sorts more than fits into memory, for hours. */
const ENDLESS_SORT = `SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY md5(i::VARCHAR)) AS n FROM range(10000000000) t(i))`;
const ENDLESS_SEARCH = `SELECT count(*) FROM range(10000000000) t(i) WHERE md5(i::VARCHAR) = 'none'`;

test('a read that spilled says that memory was short', { timeout: 180_000 }, async (t) => {
  const duckDb = await open(t);
  const time = new FakeTime(0);
  const reading = withinMillis({ millisMax: 30_000, duckDb, sleep: time.sleep }, never, (within) =>
    duckDb.query({ text: ENDLESS_SORT, values: [] }, within),
  );
  const refused = assert.rejects(reading, {
    status: 504,
    code: 'read_timeout',
    message:
      'the read exceeded its limit of 30 s, in which memory was short and the disk had to serve for it; ' +
      'ask for fewer rows or columns, or when less is read at the same time',
  });
  await until(async () => (await duckDb.use(never)).spilledBytes > 0);
  time.advance(30_000);
  await refused;
  assert.equal((await duckDb.use(never)).spilledBytes, 0);
});

test('a read that did not spill, or whose DuckDB cannot be asked, does not say so', { timeout: 180_000 }, async (t) => {
  const duckDb = await open(t);
  const time = new FakeTime(0);
  const search = (within: AbortSignal) => duckDb.query({ text: ENDLESS_SEARCH, values: [] }, within);
  const refusal = {
    status: 504,
    message: 'the read exceeded its limit of 30 s; ask for fewer rows or columns, or a simpler filter',
  };
  const busy = { use: () => Promise.reject(new Error('busy')) };
  for (const asked of [duckDb, busy]) {
    const limit = { millisMax: 30_000, duckDb: asked, sleep: time.sleep };
    const refused = assert.rejects(withinMillis(limit, never, search), refusal);
    time.advance(30_000);
    await refused;
  }
});

test('a DuckDB that does not answer what it uses does not keep the read going', { timeout: 180_000 }, async (t) => {
  const duckDb = await open(t);
  const time = new FakeTime(0);
  const search = (within: AbortSignal) => duckDb.query({ text: ENDLESS_SEARCH, values: [] }, within);
  const asked = Promise.withResolvers<void>();
  const use = () => {
    asked.resolve();
    return new Promise<never>(() => undefined);
  };
  const limit = { millisMax: 30_000, duckDb: { use }, sleep: time.sleep };
  const refused = assert.rejects(withinMillis(limit, never, search), { status: 504 });
  time.advance(30_000);
  await asked.promise;
  time.advance(1000);
  await refused;
});

test('an error of the read itself, or of its signal, stays as it is', async () => {
  const use = async () => ({ spilledBytes: 0 });
  const fail = () => Promise.reject(new Error('broken'));
  const limit = { millisMax: 60_000, duckDb: { use }, sleep: new FakeTime(0).sleep };
  await assert.rejects(withinMillis(limit, never, fail), { message: 'broken' });
  assert.equal(await withinMillis(limit, never, async () => 'read'), 'read');
  const gone = AbortSignal.abort(new Error('gone'));
  await assert.rejects(withinMillis(limit, gone, fail), { message: 'gone' });
});
