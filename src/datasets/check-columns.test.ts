import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columnMismatch } from './check-columns.ts';
import { columnsOf } from './dataset.ts';

const DECLARED = {
  name: 'points',
  columns: columnsOf({ wallet: 'varchar', total_TVL: 'double' }),
  columnPlaces: ['points/dataset.json:8', 'points/dataset.json:9'],
};

const cases: readonly (readonly [what: string, found: Record<string, string>, mismatch: string | undefined])[] = [
  ['the same columns', { wallet: 'varchar', total_TVL: 'double' }, undefined],
  ['names that an engine wrote in lower case', { wallet: 'varchar', total_tvl: 'double' }, undefined],
  [
    'another type',
    { wallet: 'varchar', total_TVL: 'decimal(38, 0)' },
    'dataset points: column 2: found total_TVL decimal(38, 0), expected total_TVL double, which points/dataset.json:9 declares',
  ],
  [
    'another order',
    { total_TVL: 'double', wallet: 'varchar' },
    'dataset points: column 1: found total_TVL double, expected wallet varchar, which points/dataset.json:8 declares',
  ],
  [
    'a column less',
    { wallet: 'varchar' },
    'dataset points: column 2, total_TVL double, which points/dataset.json:9 declares, is missing',
  ],
  [
    'a column more',
    { wallet: 'varchar', total_TVL: 'double', n: 'bigint' },
    'dataset points: column 3: found n bigint, expected no more columns',
  ],
];

for (const [what, found, mismatch] of cases) {
  test(what, () => assert.equal(columnMismatch(DECLARED, columnsOf(found)), mismatch));
}

test('of a column that code declares no place is told', () => {
  const { columnPlaces: _, ...inCode } = DECLARED;
  assert.equal(
    columnMismatch(inCode, columnsOf({ wallet: 'varbinary' })),
    'dataset points: column 1: found wallet varbinary, expected wallet varchar',
  );
});
