import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseColumnType } from '../../domain/column-type.ts';
import { declareInstead } from './declare-instead.ts';

for (const [type, value, hint] of [
  ['timestamp(6)', '1709632259123456789 nanoseconds since 1970', ', which would round it: declare timestamp(9)'],
  [
    'timestamp(6) with time zone',
    '-1 nanoseconds since 1970',
    ', which would round it: declare timestamp(9), which is in UTC',
  ],
  ['array(timestamp(6))', '1 nanoseconds since 1970', ', which would round it: declare array(timestamp(9))'],
  [
    'map(varchar, row("timestamp(6)" timestamp(6) with time zone, b date))',
    '1 nanoseconds since 1970',
    ', which would round it: declare map(varchar, row("timestamp(6)" timestamp(9), b date)), which is in UTC',
  ],
  // Beyond the year 9999, and beyond what timestamp(9) holds.
  ['timestamp(6)', '253402300800000000000 nanoseconds since 1970', ''],
  ['timestamp(6)', '9223372036854775807 nanoseconds since 1970', ''],
  ['time', '1 nanoseconds since midnight', ''],
  ['varchar', '1 nanoseconds since 1970', ''],
  ['double', '9007199254740993', ', which would round it: declare bigint, decimal or varchar'],
  ['double', 'x', ''],
] as const) {
  test(`${value} as ${type}`, () => {
    assert.equal(declareInstead(parseColumnType(type), value), hint);
  });
}
