import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FreedMemory } from './freed-memory.ts';

test('each time another limit is set, on one DuckDB; where it is not wanted, none is opened', async () => {
  const run: string[] = [];
  let opened = 0;
  const freed = new FreedMemory(async () => {
    opened += 1;
    return { run: async (sql) => void run.push(sql) };
  });
  await freed.giveBack();
  assert.equal(opened, 0);
  freed.want();
  await freed.giveBack();
  await freed.giveBack();
  assert.equal(opened, 1);
  assert.deepEqual(run, [`SET memory_limit = '17MB'`, `SET memory_limit = '16MB'`]);
});

test('what it fails with fails nobody who closes', async () => {
  const freed = new FreedMemory(async () => await Promise.reject(new Error('no memory')));
  freed.want();
  await freed.giveBack();
});
