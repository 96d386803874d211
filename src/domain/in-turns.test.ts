import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allInTurns, mapInTurns } from './in-turns.ts';
import { afterThisTurn } from './time.ts';

test('others have their turn after each so many items, and the order stays', async () => {
  const told: string[] = [];
  let ended = false;
  const other = (): void => {
    told.push('another');
    if (!ended) afterThisTurn(other);
  };
  afterThisTurn(other);
  const doubled = await mapInTurns(
    [1, 2, 3, 4, 5],
    (number, index) => {
      told.push(`item ${index}`);
      return number * 2;
    },
    2,
  );
  ended = true;
  assert.deepEqual(doubled, [2, 4, 6, 8, 10]);
  assert.deepEqual(told.slice(0, 7), ['item 0', 'item 1', 'another', 'item 2', 'item 3', 'another', 'item 4']);
});

test('work that waits is begun some at a time, in order; what fails ends it', async () => {
  const begun: number[] = [];
  const work = async (number: number) => {
    begun.push(number);
    await null;
    if (number === 4) throw new Error('the fourth');
    return number * 2;
  };
  assert.deepEqual(await allInTurns([1, 2, 3], work, 2), [2, 4, 6]);
  begun.length = 0;
  await assert.rejects(allInTurns([1, 2, 3, 4, 5], work, 2), /the fourth/);
  assert.deepEqual(begun, [1, 2, 3, 4]);
});
