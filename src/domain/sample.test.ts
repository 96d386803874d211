import assert from 'node:assert/strict';
import { test } from 'node:test';
import { samplePositions } from './sample.ts';

/** A small generator with a fixed seed (mulberry32): a statistical test must not fail one day in a hundred. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

test('a sample as large as the whole is the whole, in order', () => {
  assert.deepEqual(samplePositions(5, 5, seeded(1)), [0, 1, 2, 3, 4]);
});

test('positions are different, ascending and below the total', () => {
  const positions = samplePositions(500, 1000, seeded(2));
  assert.equal(positions.length, 500);
  assert.deepEqual(
    positions,
    [...new Set(positions)].sort((a, b) => a - b),
  );
  assert.ok(positions.every((position) => position >= 0 && position < 1000));
});

test('each of the 10 subsets of 2 out of 5 is equally likely', () => {
  const random = seeded(3);
  const counts = new Map<string, number>();
  const draws = 20_000;
  for (let i = 0; i < draws; i += 1) {
    const subset = samplePositions(2, 5, random).join();
    counts.set(subset, (counts.get(subset) ?? 0) + 1);
  }
  assert.equal(counts.size, 10);
  const expected = draws / 10;
  const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  // 9 degrees of freedom: 27.9 is exceeded once in a thousand fair series.
  assert.ok(chiSquare < 27.9, `χ² = ${chiSquare}`);
});
