import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countOf, intersect } from './entry-ranges.ts';

test('the intersection of two sets of ranges', () => {
  const a = [
    { from: 0, to: 4 },
    { from: 6, to: 8 },
    { from: 20, to: 30 },
  ];
  const b = [
    { from: 2, to: 7 },
    { from: 8, to: 20 },
    { from: 22, to: 23 },
    { from: 25, to: 40 },
  ];
  const both = [
    { from: 2, to: 4 },
    { from: 6, to: 7 },
    { from: 22, to: 23 },
    { from: 25, to: 30 },
  ];
  assert.deepEqual(intersect(a, b), both);
  assert.deepEqual(intersect(b, a), both);
  assert.deepEqual(intersect(a, []), []);
});

test('intersecting two sets of many ranges looks at each range once', () => {
  // All pairs of these ranges would not fit into memory.
  const many = (first: number) =>
    Array.from({ length: 20_000 }, (_, i) => ({ from: first + 4 * i, to: first + 4 * i + 2 }));
  const both = intersect(many(0), many(1));
  assert.deepEqual([both.length, countOf(both)], [20_000, 20_000]);
});
