import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepTick } from './kept-tick.ts';

test('a tick is kept, and no more than one', async () => {
  const kept = keepTick();
  await new Promise<void>((resolve) => process.nextTick(resolve));
  keepTick();
  await new Promise<void>((resolve) => process.nextTick(resolve));
  assert.deepEqual(
    kept.map((tick) => 'callback' in tick),
    [true],
  );
});
