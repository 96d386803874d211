import assert from 'node:assert/strict';
import { test } from 'node:test';
import { giveBack } from './give-back.ts';

test('memory of its own is gone at once, with every view of it', () => {
  const bytes = Buffer.alloc(1_000_000, 'x');
  const view = bytes.subarray(10, 20);
  giveBack(bytes);
  assert.equal(bytes.byteLength, 0);
  assert.equal(view.byteLength, 0);
});

test('bytes in the pool of Buffers stay: others lie beside them', () => {
  const [bytes, neighbour] = [Buffer.from('given back'), Buffer.from('neighbour')];
  assert.equal(bytes.buffer, neighbour.buffer, 'both lie in the pool');
  giveBack(bytes);
  assert.equal(neighbour.toString(), 'neighbour');
});

test('so they do where the pool is larger than Node says, as in Node 26', (t) => {
  const { poolSize } = Buffer;
  t.after(() => {
    Buffer.poolSize = poolSize;
  });
  const neighbour = Buffer.from('neighbour');
  Buffer.poolSize = neighbour.buffer.byteLength - 64;
  giveBack(neighbour.subarray(1));
  assert.equal(neighbour.toString(), 'neighbour');
});
