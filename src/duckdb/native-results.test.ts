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

test('where a statement finds no memory, young garbage is collected at once, and all where that was not enough', () => {
  const collections: string[] = [];
  const results = new NativeResults((garbage) => {
    collections.push(garbage);
  });
  results.count(20 * MEBIBYTE);
  results.release();
  results.release();
  assert.deepEqual(collections, ['minor', 'major']);
  // A result was taken: there was memory. Results are counted anew.
  results.count(20 * MEBIBYTE);
  results.release();
  assert.deepEqual(collections, ['minor', 'major', 'minor']);
});
