import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRange, resolveRange } from './byte-range.ts';

for (const [header, expected] of [
  ['bytes=0-', { from: 0, to: 1000 }],
  ['bytes=100-199', { from: 100, to: 200 }],
  ['bytes=100-5000', { from: 100, to: 1000 }],
  ['bytes=100-9223372036854775807', { from: 100, to: 1000 }],
  ['bytes=-18446744073709551615', { from: 0, to: 1000 }],
  ['bytes=-100', { from: 900, to: 1000 }],
  ['bytes=-5000', { from: 0, to: 1000 }],
  ['Bytes = 999-', { from: 999, to: 1000 }],
] as const) {
  test(`${header} of 1000 bytes is ${expected.from} to ${expected.to}`, () => {
    const range = parseRange(header);
    assert.ok(range !== undefined);
    assert.deepEqual(resolveRange(range, 1000), expected);
  });
}

for (const header of [undefined, '', 'bytes=', 'bytes=-', 'bytes=5-4', 'bytes=0-1,3-4', 'rows=0-1', 'bytes=a-']) {
  test(`${header} is answered with the whole`, () => assert.equal(parseRange(header), undefined));
}

for (const header of ['bytes=1000-', 'bytes=-0', 'bytes=2000-3000', 'bytes=18446744073709551615-']) {
  test(`${header} of 1000 bytes cannot be satisfied`, () => {
    const range = parseRange(header);
    assert.ok(range !== undefined);
    assert.throws(() => resolveRange(range, 1000), {
      code: 'range_not_satisfiable',
      message: 'Range: found a range that begins after the end, expected one within 1000 bytes',
      headers: { 'content-range': 'bytes */1000' },
    });
  });
}
