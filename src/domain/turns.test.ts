import assert from 'node:assert/strict';
import { test } from 'node:test';
import { letOthersRun } from './time.ts';
import { Turns } from './turns.ts';

/** How many of so many that ask at once have begun at once, and when each round that follows has begun. */
async function begunByRound(count: number): Promise<readonly number[]> {
  const turns = new Turns(32);
  const begun: number[] = [];
  for (let number = 0; number < count; number += 1) {
    const wait = turns.nextIfMany();
    if (wait === undefined) begun.push(number);
    else void wait.then(() => begun.push(number));
  }
  const counts = [begun.length];
  while (begun.length < count) {
    await letOthersRun();
    counts.push(begun.length);
  }
  assert.deepEqual(
    begun,
    Array.from({ length: count }, (_, index) => index),
  );
  return counts;
}

test('so many begin in each round, in the order of asking', async () => {
  assert.deepEqual(await begunByRound(32), [32]);
  assert.deepEqual(await begunByRound(100), [32, 64, 96, 100]);
});

test('who comes alone waits for nothing, nor in a later round', async () => {
  const turns = new Turns(32);
  for (let round = 0; round < 3; round += 1) {
    assert.equal(turns.nextIfMany(), undefined);
    await letOthersRun();
  }
});

test('of those who give way, however few, one goes on in each round', async () => {
  const turns = new Turns();
  const gone: number[] = [];
  for (const number of [1, 2]) void turns.next().then(() => gone.push(number));
  await Promise.resolve();
  assert.equal(gone.length, 0);
  await letOthersRun();
  assert.deepEqual(gone, [1]);
  await letOthersRun();
  assert.deepEqual(gone, [1, 2]);
  void turns.next().then(() => gone.push(3));
  await letOthersRun();
  assert.deepEqual(gone, [1, 2, 3]);
});
