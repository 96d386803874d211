import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addHashes, blockOfHash, emptyBloomFilter, foldBloomFilter, mayHaveHash } from './bloom-filter.ts';

const SEED = Number(process.env.TEST_SEED ?? 1);
const ASKED = 20_000;

/** Numbers of 32 bits by a linear congruential generator, of which the low bits are spread by a shift. */
function numbers(seed: number, count: number): Uint32Array {
  let state = seed >>> 0;
  return Uint32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) >>> 0;
  });
}

/** The filter as it would be stored, asked for hashes. */
function asker(filter: Uint32Array): (hash: number) => boolean {
  return (hash) => {
    const { offset, bytes } = blockOfHash(filter.byteLength, hash);
    assert(offset + bytes <= filter.byteLength);
    return mayHaveHash(new DataView(filter.buffer, filter.byteOffset + offset, bytes), hash);
  };
}

for (const rows of [0, 1, 2, 25, 26, 1000, 99_999]) {
  for (const repeated of [1, 2, 50]) {
    const title = `${rows} hashes, each ${repeated} times: all that were put in are found, and hardly any others (seed ${SEED})`;
    test(title, () => {
      const distinct = Math.ceil(rows / repeated);
      const put = numbers(SEED, distinct);
      const empty = emptyBloomFilter(rows);
      addHashes(
        empty,
        Uint32Array.from({ length: rows }, (_, i) => put[i % distinct] as number),
      );
      const filter = foldBloomFilter(empty);
      const isFound = asker(filter);
      for (const hash of rows === 0 ? [] : put) assert(isFound(hash), `${hash} is lost`);
      const others = numbers(SEED + 1_000_003, ASKED).filter((hash) => !put.includes(hash));
      const wrong = others.filter(isFound).length / others.length;
      assert(wrong < 0.03, `${wrong} of the others are found`);
      // Two bytes and a half for each, but one block at least.
      assert(filter.byteLength <= Math.max(32, 2.6 * distinct), `${filter.byteLength} bytes for ${distinct} hashes`);
    });
  }
}

test('a filter of no hashes finds none', () => {
  const isFound = asker(foldBloomFilter(emptyBloomFilter(1000)));
  assert.deepEqual([...numbers(SEED, 1000)].filter(isFound), []);
});
