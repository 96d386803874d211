import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tuneV8 } from './v8-tuning.ts';

test('a tick is kept, and no more than one', async () => {
  const kept = tuneV8();
  tuneV8();
  await new Promise<void>((resolve) => process.nextTick(resolve));
  tuneV8();
  await new Promise<void>((resolve) => process.nextTick(resolve));
  assert.deepEqual(
    kept.map((tick) => 'callback' in tick),
    [true],
  );
});

test('garbage can be collected on request', () => {
  tuneV8();
  assert.equal(typeof globalThis.gc, 'function');
  globalThis.gc?.({ type: 'minor' });
});
