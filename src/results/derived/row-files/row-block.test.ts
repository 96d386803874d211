import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJoinable, packBlock } from './row-block.ts';

/** A group of blocks, each with one row of so many bytes. */
function group(bytes: number) {
  return Array.from({ length: 16 }, (_, block) =>
    packBlock([[bytes], [8]], 0, 1, Buffer.alloc(bytes, `row ${block};`)),
  );
}

test('blocks are unpacked as one only where that takes a moment', () => {
  assert.equal(isJoinable(group(60 * 1024)), true);
  assert.equal(isJoinable(group(70 * 1024)), false);
});
