import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomSeed, samplePositions } from './sample.ts';

test('a sample as large as the whole is the whole, in order', () => {
  assert.deepEqual(samplePositions({ seed: 1n, count: 5, total: 5 }), [0, 1, 2, 3, 4]);
});

test('positions are different, ascending and below the total', () => {
  const positions = samplePositions({ seed: 2n, count: 500, total: 1000 });
  assert.equal(positions.length, 500);
  assert.deepEqual(
    positions,
    [...new Set(positions)].sort((a, b) => a - b),
  );
  assert.ok(positions.every((position) => position >= 0 && position < 1000));
});

test('each of the 10 subsets of 2 out of 5 is equally likely, also for consecutive seeds', () => {
  const counts = new Map<string, number>();
  const draws = 20_000;
  for (let seed = 0n; seed < draws; seed += 1n) {
    const subset = samplePositions({ seed, count: 2, total: 5 }).join();
    counts.set(subset, (counts.get(subset) ?? 0) + 1);
  }
  assert.equal(counts.size, 10);
  const expected = draws / 10;
  const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  // With 9 degrees of freedom, a fair series exceeds 27.9 once in a thousand times.
  assert.ok(chiSquare < 27.9, `χ² = ${chiSquare}`);
});

test('a seed has 64 random bits', () => {
  assert.equal(
    randomSeed(() => 0),
    0n,
  );
  assert.equal(
    randomSeed(() => 1 - 2 ** -53),
    2n ** 64n - 1n,
  );
  const numbers = [0.5, 0.25];
  assert.equal(
    randomSeed(() => numbers.shift() ?? 0),
    0x8000_0000_4000_0000n,
  );
});
