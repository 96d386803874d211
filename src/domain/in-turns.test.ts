import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapInTurns } from './in-turns.ts';
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
