/** A statement ends when its signal is aborted, at whatever moment. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { sleep } from '../../test/real-time.ts';
import { DuckDb } from './duckdb.ts';

async function open(t: TestContext): Promise<DuckDb> {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-duckdb-'));
  const duckDb = await DuckDb.open({
    threads: 1,
    memoryLimit: '256MB',
    tempDirectory: directory,
    tempSizeMax: '64MB',
    sleep,
    allowedDirectories: [directory],
  });
  t.after(async () => {
    await duckDb[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });
  return duckDb;
}

/** Takes minutes to run; the chain of conditions takes many milliseconds to plan. */
const ENDLESS = {
  text: `SELECT count(*) FROM range(1000000) a(i), range(1000000) b(j) WHERE ${Array.from({ length: 500 }, (_, n) => `i + j = -${n}`).join(' OR ')}`,
  values: [],
};

test('an abort ends a statement, also while it is being planned', { timeout: 60_000 }, async (t) => {
  const duckDb = await open(t);
  for (const millis of [0, 1, 2, 5, 10, 20, 50, 100]) {
    await assert.rejects(duckDb.query(ENDLESS, AbortSignal.timeout(millis)), { name: 'TimeoutError' });
  }
  assert.deepEqual(await duckDb.query({ text: 'SELECT 1', values: [] }, t.signal), [[1]]);
});

test('closing ends statements that still run', { timeout: 60_000 }, async (t) => {
  const duckDb = await open(t);
  const endless = assert.rejects(duckDb.query(ENDLESS, t.signal), /INTERRUPT/);
  await duckDb[Symbol.asyncDispose]();
  await endless;
});
