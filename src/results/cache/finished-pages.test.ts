import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteLengthOf } from '../read/byte-chunks.ts';
import { type FinishedPage, KEPT_AT_ONCE_BYTES, keepPage, type PageCaches } from './finished-pages.ts';
import { LruBytes } from './lru-bytes.ts';
import { RememberedNames } from './remembered-names.ts';

function cachesOf(bytesMax = 100_000_000): PageCaches {
  return {
    pages: new LruBytes(bytesMax, ({ byteChunks }) => byteLengthOf(byteChunks)),
    asked: new RememberedNames(),
  };
}

function pageOf(etag: string, ...sizes: readonly number[]): FinishedPage {
  const byteChunks = sizes.map((size) => Buffer.alloc(size, 'x'));
  return { contentType: 'application/json', headers: {}, etag, byteChunks, rowCount: 1, cellBytes: 1, datapoints: 1 };
}

test('a small page that DuckDB read is kept when it is asked for the first time', () => {
  const caches = cachesOf();
  assert.equal(keepPage(caches, 'a', pageOf('"a"', KEPT_AT_ONCE_BYTES), false), true);
  assert.equal(caches.pages.get('a')?.etag, '"a"');
});

for (const { what, bytes, isLight } of [
  { what: 'a larger one', bytes: KEPT_AT_ONCE_BYTES + 1, isLight: false },
  { what: 'one that row files had', bytes: 100, isLight: true },
]) {
  test(`${what} is kept when it is asked for the second time: then nobody may take its memory`, () => {
    const caches = cachesOf();
    const page = pageOf('"a"', bytes);
    assert.equal(keepPage(caches, 'a', page, isLight), false);
    assert.equal(caches.pages.get('a'), undefined);
    assert.equal(keepPage(caches, 'b', pageOf('"b"', bytes), isLight), false);
    assert.equal(keepPage(caches, 'a', page, isLight), true);
    assert.equal(caches.pages.get('a'), page);
  });
}

test('what was asked for once is forgotten when too much is remembered', () => {
  const asked = new RememberedNames();
  for (let name = 0; name < 10_000; name += 1) assert.equal(asked.note(String(name)), false);
  assert.equal(asked.note('9999'), true);
  assert.equal(asked.note('one more'), false);
  assert.equal(asked.note('9999'), false);
});
