import assert from 'node:assert/strict';
import { test } from 'node:test';
import { letOthersRun } from '../../domain/time.ts';
import { byteLengthOf, cutBytes, gather, join, ownBytes } from './byte-chunks.ts';

const byteChunks = ['ab', '', 'cde', 'f'].map((text) => Buffer.from(text));

test('the length of chunks is the sum of their lengths', () => {
  assert.equal(byteLengthOf(byteChunks), 6);
  assert.equal(byteLengthOf([]), 0);
});

test('few bytes are gathered into one chunk, many are left where they are', () => {
  assert.deepEqual(gather(byteChunks, 6), [Buffer.from('abcdef')]);
  assert.equal(gather(byteChunks, 5), byteChunks);
});

test('what has been gathered gives its memory back, but for that in Node’s pool, which others have parts of', () => {
  const chunks = [Buffer.alloc(200_000, 'a'), Buffer.from(','), Buffer.alloc(200_000, 'b')];
  assert.deepEqual(gather(chunks, 500_000), [Buffer.from(`${'a'.repeat(200_000)},${'b'.repeat(200_000)}`)]);
  assert.deepEqual(
    chunks.map(({ byteLength }) => byteLength),
    [0, 1, 0],
  );
});

test('what is one array already stays that', () => {
  const only = Buffer.alloc(200_000, 'a');
  assert.equal(gather([only], 500_000)[0], only);
  assert.equal(only.byteLength, 200_000);
});

test('what is kept has memory of its own, and no part of Node’s pool or of a larger block', () => {
  for (const chunks of [byteChunks, [Buffer.from('only')], [Buffer.alloc(1000).subarray(990)], []]) {
    const own = ownBytes(chunks);
    assert.deepEqual(own, Buffer.concat(chunks));
    assert.equal(own.buffer.byteLength, byteLengthOf(chunks));
    const [gathered] = gather(chunks, 100);
    assert.equal(gathered?.buffer.byteLength, byteLengthOf(chunks));
  }
});

test('what has nearly all of its memory is not copied', () => {
  const nearly = Buffer.alloc(1000).subarray(0, 950);
  assert.equal(ownBytes([nearly]), nearly);
});

test('chunks are joined into one; a single chunk is not copied', async () => {
  assert.deepEqual(await join(byteChunks), Buffer.from('abcdef'));
  const only = Buffer.from('only');
  assert.equal(await join([only]), only);
});

test('many megabytes are joined some at a time, and others run in between', async () => {
  const megabytes = Array.from({ length: 7 }, (_, index) => new Uint8Array(1024 * 1024 + 1).fill(index));
  let turns = 0;
  const whole = join(megabytes);
  const others = (async () => {
    for (; turns < 2; turns += 1) await letOthersRun();
  })();
  assert.ok(Buffer.from(await whole).equals(Buffer.concat(megabytes)));
  assert.equal(turns, 2);
  await others;
});

test('every slice of the chunks is that slice of the whole', () => {
  for (let from = 0; from <= 7; from += 1) {
    for (let to = from; to <= 8; to += 1) {
      const text = Buffer.concat([...cutBytes(byteChunks, from, to)]).toString();
      assert.equal(text, 'abcdef'.slice(from, to), `${from} to ${to}`);
    }
  }
});
