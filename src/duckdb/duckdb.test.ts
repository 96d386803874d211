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

test('an abort ends a statement, also while it is being planned', { timeout: 180_000 }, async (t) => {
  const duckDb = await open(t);
  for (const millis of [0, 1, 2, 5, 10, 20, 50, 100]) {
    await assert.rejects(duckDb.query(ENDLESS, AbortSignal.timeout(millis)), { name: 'TimeoutError' });
  }
  assert.deepEqual(await duckDb.query({ text: 'SELECT 1', values: [] }, t.signal), [[1]]);
});

test('closing ends statements that still run', { timeout: 180_000 }, async (t) => {
  const duckDb = await open(t);
  const endless = assert.rejects(duckDb.query(ENDLESS, t.signal), /INTERRUPT/);
  await duckDb[Symbol.asyncDispose]();
  await endless;
});

test('a statement whose plan is kept answers as any other, each time with its own values, and at the same time too', async (t) => {
  const duckDb = await open(t);
  const text = 'SELECT upper(v) FROM (SELECT unnest(CAST($1 AS VARCHAR[])) AS v)';
  const ask = (...list: readonly (string | null)[]) => duckDb.queryPlanned({ text, values: [list] }, t.signal);
  assert.deepEqual(await ask('a', 'b'), [['A'], ['B']]);
  assert.deepEqual(await ask('c'), [['C']]);
  assert.deepEqual(await Promise.all(['d', 'e', 'f'].map((v) => ask(v))), [[['D']], [['E']], [['F']]]);
  const other = { text: 'SELECT CAST($1 AS INTEGER) + 1', values: [41] };
  assert.deepEqual(await duckDb.queryPlanned(other, t.signal), [[42]]);
  assert.deepEqual(await ask('g'), [['G']]);
});

test('an abort ends a statement whose plan is kept, and so does closing', { timeout: 180_000 }, async (t) => {
  const duckDb = await open(t);
  const text = 'SELECT count(*) FROM range(CAST($1 AS BIGINT)) a(i), range(1000000) b(j) WHERE i + j = -1';
  const ask = (rows: number, signal: AbortSignal) => duckDb.queryPlanned({ text, values: [rows] }, signal);
  assert.deepEqual(await ask(1, t.signal), [[0n]]);
  await assert.rejects(ask(1_000_000, AbortSignal.timeout(20)), { name: 'TimeoutError' });
  assert.deepEqual(await ask(1, t.signal), [[0n]]);
  const endless = assert.rejects(ask(1_000_000, t.signal), /INTERRUPT/);
  await duckDb[Symbol.asyncDispose]();
  await endless;
  await assert.rejects(ask(1, t.signal), /DuckDB is closed/);
});
