import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteLengthOf, cutBytes, gather, join } from './byte-chunks.ts';

const byteChunks = ['ab', '', 'cde', 'f'].map((text) => Buffer.from(text));

test('pieces are as long as all of them', () => {
  assert.equal(byteLengthOf(byteChunks), 6);
  assert.equal(byteLengthOf([]), 0);
});

test('few bytes are gathered in one piece, many are left where they are', () => {
  assert.deepEqual(gather(byteChunks), [Buffer.from('abcdef')]);
  const large = [Buffer.alloc(1024 * 1024), Buffer.from('x')];
  assert.equal(gather(large), large);
});

test('joined they are one; a single one is not copied', () => {
  assert.deepEqual(join(byteChunks), Buffer.from('abcdef'));
  const only = Buffer.from('only');
  assert.equal(join([only]), only);
});

test('every slice of the pieces is that slice of the whole', () => {
  for (let from = 0; from <= 7; from += 1) {
    for (let to = from; to <= 8; to += 1) {
      const text = Buffer.concat([...cutBytes(byteChunks, from, to)]).toString();
      assert.equal(text, 'abcdef'.slice(from, to), `${from} to ${to}`);
    }
  }
});
