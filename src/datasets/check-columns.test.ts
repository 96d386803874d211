import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columnMismatch } from './check-columns.ts';
import { columnsOf } from './dataset.ts';

const DECLARED = columnsOf({ wallet: 'varchar', total_TVL: 'double' });

const cases: readonly (readonly [what: string, found: Record<string, string>, mismatch: string | undefined])[] = [
  ['the same columns', { wallet: 'varchar', total_TVL: 'double' }, undefined],
  ['names that an engine wrote in lower case', { wallet: 'varchar', total_tvl: 'double' }, undefined],
  [
    'another type',
    { wallet: 'varchar', total_TVL: 'decimal(38, 0)' },
    'column 2: found total_TVL decimal(38, 0), expected total_TVL double',
  ],
  [
    'another order',
    { total_TVL: 'double', wallet: 'varchar' },
    'column 1: found total_TVL double, expected wallet varchar',
  ],
  ['a column less', { wallet: 'varchar' }, 'column 2, total_TVL double, is missing'],
  [
    'a column more',
    { wallet: 'varchar', total_TVL: 'double', n: 'bigint' },
    'column 3: found n bigint, expected no more columns',
  ],
];

for (const [what, found, mismatch] of cases) {
  test(what, () => assert.equal(columnMismatch(DECLARED, columnsOf(found)), mismatch));
}
