import assert from 'node:assert/strict';
import { test } from 'node:test';
import { letOthersRun } from './time.ts';
import { TurnBudget } from './turn-budget.ts';

/** How many of so many that ask at once have begun at once, and when each turn that follows has begun. */
async function begunByTurn(count: number): Promise<readonly number[]> {
  const budget = new TurnBudget(32);
  const begun: number[] = [];
  for (let number = 0; number < count; number += 1) {
    const wait = budget.next();
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

test('so many are begun in each turn, in the order of asking', async () => {
  assert.deepEqual(await begunByTurn(32), [32]);
  assert.deepEqual(await begunByTurn(100), [32, 64, 96, 100]);
});

test('who comes alone waits for nothing, nor in a later turn', async () => {
  const budget = new TurnBudget(32);
  for (let turn = 0; turn < 3; turn += 1) {
    assert.equal(budget.next(), undefined);
    await letOthersRun();
  }
});
