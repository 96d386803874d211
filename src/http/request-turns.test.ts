import assert from 'node:assert/strict';
import { test } from 'node:test';
import { letOthersRun } from '../domain/time.ts';
import { RequestTurns } from './request-turns.ts';

test('requests begin at once for five milliseconds of a turn; the others one in each turn, in their order', async () => {
  let [now, turn] = [0, 1];
  const turns = new RequestTurns(
    () => now,
    () => turn,
  );
  const begun: number[] = [];
  const request = (number: number) =>
    turns.begin(() => {
      begun.push(number);
      now += 2;
    });
  for (let number = 1; number <= 6; number += 1) request(number);
  assert.deepEqual(begun, [1, 2, 3]);
  turn = 2;
  // The fourth has come before the seventh.
  request(7);
  assert.deepEqual(begun, [1, 2, 3]);
  await letOthersRun();
  assert.deepEqual(begun, [1, 2, 3, 4]);
  for (let more = 0; more < 3; more += 1) await letOthersRun();
  assert.deepEqual(begun, [1, 2, 3, 4, 5, 6, 7]);
  turn = 3;
  request(8);
  assert.equal(begun.at(-1), 8, 'nobody waits any more');
});

test('requests that wait begin though nothing else comes', async () => {
  let now = 0;
  const turns = new RequestTurns(
    () => now,
    () => 1,
  );
  turns.begin(() => {
    now = 10;
  });
  const begun: string[] = [];
  for (const name of ['first', 'second']) turns.begin(() => begun.push(name));
  await letOthersRun();
  await letOthersRun();
  assert.deepEqual(begun, ['first', 'second']);
});
