import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wantsSha256 } from './want-digest.ts';

for (const [header, wanted] of [
  ['sha-256=1', true],
  ['sha-256=10', true],
  ['sha-512=3, sha-256=10, unixsum=0', true],
  ['sha-256=0', false],
  ['sha-256=11', false],
  ['sha-256', false],
  ['sha-512=5', false],
  ['', false],
  [undefined, false],
] as const) {
  test(`Want-Repr-Digest: ${header ?? '(absent)'} ${wanted ? 'wants' : 'does not want'} SHA-256`, () => {
    assert.equal(wantsSha256(header), wanted);
  });
}
