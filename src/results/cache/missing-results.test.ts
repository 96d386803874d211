import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResultSet } from '../../domain/result-set.ts';
import { ObjectDamaged } from '../../store/result-store.ts';
import { MissingResults } from './missing-results.ts';

const RESULT: ResultSet = { columns: [], rowCount: 0, cellBytes: 0, truncated: false, parts: [] };

test('a missing result is told once, however many there are; one that a read has found missing is told in any case', async () => {
  const told: string[] = [];
  const missing = new MissingResults({
    executions: { findResultSet: async () => RESULT },
    store: { findMissing: async () => ['part-00000.parquet'] },
    onChange: (executionId, isMissing) => told.push(`${executionId} ${isMissing}`),
  });
  const ids = Array.from({ length: 1001 }, (_, n) => `run-${n}`);
  for (let time = 0; time < 2; time += 1) {
    for (const id of ids) assert.equal(await missing.isMissing(id, RESULT), true);
  }
  assert.deepEqual(
    told,
    ids.slice(0, 1000).map((id) => `${id} true`),
  );
  const damaged = async () => {
    throw new ObjectDamaged('run-1000/1/part-00000.parquet', 'it is missing', true);
  };
  const store = missing.noticing({ open: damaged, prefetch: async () => undefined });
  const object = { key: 'run-1000/1/part-00000.parquet' } as Parameters<typeof store.open>[0];
  await assert.rejects(store.open(object, { from: 0, to: 1 }, new AbortController().signal), ObjectDamaged);
  assert.equal(told.at(-1), 'run-1000 true');
  assert.equal(told.length, 1001);
});
