import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columnsOf } from './dataset.ts';

test('a wrong type in a declaration is told with its file and its line', () => {
  const declare = () =>
    columnsOf({
      wallet: 'varchar',
      total_TVL: 'dubble',
    });
  assert.throws(declare, /^Error: dataset written-place\.test\.ts:9: column total_TVL: .*dubble/);
});
