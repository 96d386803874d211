import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { NativeResults } from './native-results.ts';

const MEBIBYTE = 1024 * 1024;

test('each time that 32 MiB of results have been taken, young garbage is collected after the turn', async () => {
  let collections = 0;
  const results = new NativeResults(() => {
    collections += 1;
  });
  const take = async (mebibytes: number) => {
    results.count(mebibytes * MEBIBYTE);
    const during = collections;
    await nextTurn();
    return [during, collections];
  };
  assert.deepEqual(await take(20), [0, 0]);
  assert.deepEqual(await take(12), [0, 0]);
  assert.deepEqual(await take(1), [0, 1]);
  assert.deepEqual(await take(32), [1, 1]);
  assert.deepEqual(await take(1), [1, 2]);
});
