import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packNumbers, RowNumbers, TEXT_BYTES } from './row-numbers.ts';

const TABLES = [
  [0, 1, 254, 255],
  [256, 65_535, 0, 300],
  [65_536, 4_294_967_295, 7, 0],
  [0, 0, 0, 0],
] as const;

test('numbers are read back as they were packed, each table in as many bytes as its largest number needs', () => {
  const packed = packNumbers(TABLES, 0, 4);
  assert.equal(packed.length, 4 + 4 * (1 + 2 + 4 + 1));
  const numbers = new RowNumbers(Buffer.concat([packed, Buffer.from('what follows')]), 4, TABLES.length);
  assert.equal(numbers.byteLength, packed.length);
  for (const [table, expected] of TABLES.entries()) {
    assert.deepEqual(
      expected.map((_, row) => numbers.number(table, row)),
      expected,
    );
  }
  assert.equal(numbers.sum(1, 1, 4), 65_835);
});

test('some of the rows are packed; a row’s text begins after those before it and a comma for each', () => {
  const numbers = new RowNumbers(packNumbers(TABLES, 1, 3), 2, TABLES.length);
  assert.deepEqual([numbers.number(TEXT_BYTES, 0), numbers.number(TEXT_BYTES, 1)], [1, 254]);
  assert.deepEqual(
    [0, 1, 2].map((row) => numbers.textBefore(row)),
    [0, 2, 257],
  );
});
