import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Part } from '../../domain/result-set.ts';
import { EXPORT_RANGE_ROWS, rangesOf } from './part-ranges.ts';
import { RangePrefetch } from './range-prefetch.ts';

const signal = new AbortController().signal;
const MEGABYTE = 1024 * 1024;
const ROWS = 4 * EXPORT_RANGE_ROWS;

/** Parts of four ranges each. */
function partsOf(count: number, objectBytes: number): readonly Part[] {
  return Array.from({ length: count }, (_, index) => ({
    key: `01A/part-${index}`,
    firstRow: index * ROWS,
    rowCount: ROWS,
    cellBytes: ROWS,
    rowBytesMax: 1,
    objectBytes,
    sha256: '',
  }));
}

/** What the store is told of, as `part:range`. */
function watch(parts: readonly Part[]) {
  const ranges = rangesOf(parts, 0, parts.length * ROWS, EXPORT_RANGE_ROWS, 1);
  const told: string[] = [];
  const prefetch = new RangePrefetch(ranges, async (part, { from, to }) => {
    assert.equal(to - from, EXPORT_RANGE_ROWS);
    told.push(`${part.key.at(-1)}:${from / EXPORT_RANGE_ROWS}`);
  });
  return { begins: (index: number) => prefetch.begins(index, signal), taken: () => told.splice(0).join(' ') };
}

test('the next 16 MB are fetched, over the end of a part, and each range once', () => {
  const { begins, taken } = watch(partsOf(2, 20 * MEGABYTE));
  begins(0);
  assert.equal(taken(), '0:1 0:2 0:3');
  begins(1);
  assert.equal(taken(), '1:0');
  begins(1);
  assert.equal(taken(), '');
  // Two are read side by side, and those before them were read from elsewhere.
  begins(4);
  assert.equal(taken(), '1:1 1:2 1:3');
  begins(7);
  assert.equal(taken(), '');
});

test('one range is fetched ahead, however large it is', () => {
  const { begins, taken } = watch(partsOf(1, 400 * MEGABYTE));
  begins(0);
  assert.equal(taken(), '0:1');
  begins(1);
  assert.equal(taken(), '0:2');
});
