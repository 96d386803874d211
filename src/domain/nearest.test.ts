import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearest } from './nearest.ts';

const NAMES = ['block_time', 'block_number', 'amount', 'amount_usd', 'tx_hash', ''];

for (const [word, expected] of [
  ['blok_time', ['block_time']],
  ['BLOCK_TIEM', ['block_time']],
  ['amout', ['amount']],
  ['usd', ['amount_usd']],
  ['hash', ['tx_hash']],
  ['zzz', []],
  ['', []],
  ['x'.repeat(10_000), []],
] as const) {
  test(`near "${word.slice(0, 20)}": ${expected.join() || 'nothing'}`, () =>
    assert.deepEqual(nearest(word, NAMES), expected));
}
