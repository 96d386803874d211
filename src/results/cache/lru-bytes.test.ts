import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LruBytes } from './lru-bytes.ts';

const cacheOf = (bytesMax: number) => new LruBytes<Uint8Array>(bytesMax, (value) => value.byteLength);
const bytes = (size: number) => new Uint8Array(size);

test('the least recently used goes first, and the bytes stay within the bound', () => {
  const cache = cacheOf(10_000);
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']) {
    cache.put(key, bytes(700));
    cache.get('a');
    assert.ok(cache.bytes <= 10_000);
  }
  assert.equal(cache.get('b'), undefined);
  assert.equal(cache.get('a')?.byteLength, 700);
  assert.equal(cache.get('i')?.byteLength, 700);
});

test('an entry of more than an eighth of the whole is not kept', () => {
  const cache = cacheOf(8_000);
  cache.put('large', bytes(1_000));
  assert.equal(cache.get('large'), undefined);
  assert.equal(cache.bytes, 0);
});

test('the same key again replaces the entry, and counts once', () => {
  const cache = cacheOf(100_000);
  cache.put('a', bytes(100));
  const once = cache.bytes;
  cache.put('a', bytes(100));
  assert.equal(cache.bytes, once);
});
