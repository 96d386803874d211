import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatKey, formatKeyId, isKey, isShareToken, KEY_BYTES, KEY_ID_BYTES, withoutKeys } from './key.ts';

test('a key is its prefix and forty characters', () => {
  assert.equal(formatKey(new Uint8Array(25)), `qrs_${'0'.repeat(40)}`);
  assert.equal(formatKey(new Uint8Array(25).fill(255)), `qrs_${'z'.repeat(40)}`);
  assert.equal(formatKey(Uint8Array.from({ length: 25 }, (_, i) => i)), 'qrs_000g40r40m30e209185gr38e1w8124gk2gahc5rr');
});

test('a key id is sixteen characters', () => {
  assert.equal(formatKeyId(Uint8Array.from([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])), '000g40r40m30e209');
});

test('other lengths are refused', () => {
  assert.throws(() => formatKey(new Uint8Array(24)), RangeError);
  assert.throws(() => formatKeyId(new Uint8Array(11)), RangeError);
});

test('a generated key is valid, and different bytes make different keys', () => {
  const bytes = fc.uint8Array({ minLength: KEY_BYTES, maxLength: KEY_BYTES });
  fc.assert(
    fc.property(bytes, bytes, (a, b) => {
      assert(isKey(formatKey(a)));
      assert.equal(formatKey(a) === formatKey(b), Buffer.compare(a, b) === 0);
    }),
  );
  assert.equal((KEY_ID_BYTES * 8) % 5, 0);
});

test('text that is no key is recognised', () => {
  const key = formatKey(new Uint8Array(25));
  for (const text of ['', 'qrs_', key.slice(1), `${key}0`, `${key}\n`, key.toUpperCase(), key.replace('0', 'l')]) {
    assert.equal(isKey(text), false, text);
  }
});

test('the token of a share is no key, and a key no token; neither stands in a text that is told', () => {
  const key = formatKey(new Uint8Array(25));
  const token = formatKey(new Uint8Array(25), 'share');
  assert.equal(token, `qrss_${'0'.repeat(40)}`);
  assert.deepEqual([isKey(key), isKey(token), isShareToken(key), isShareToken(token)], [true, false, false, true]);
  assert.equal(withoutKeys(`a ${key} b ${token}/results qrs_x`), 'a qrs_[key] b qrss_[key]/results qrs_x');
});
