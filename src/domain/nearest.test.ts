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

test('a search among thousands of long names is short, and still finds those that contain the word', () => {
  const far = Array.from({ length: 10_000 }, (_, name) => `${String(name).padStart(90, 'abcdefghij')}_name`);
  const word = far[5000]?.replace('_name', '_mane') ?? '';
  assert.deepEqual(nearest(word, [...far.slice(0, 20), `${far[5000]}`]).at(0), far[5000]);
  assert.ok(!nearest(word, far).includes(far[5000] ?? ''));
  assert.deepEqual(nearest('special', [...far, 'the_special_one']), ['the_special_one']);
});
