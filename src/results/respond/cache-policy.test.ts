import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Execution } from '../../domain/execution.ts';
import { cacheControlOf, encodedEtag, etagOf, matchedTag, matchesEtag } from './cache-policy.ts';

const execution: Execution = {
  id: '01HR864GXKRBB3WRAPTF11A40C',
  queryId: 1,
  parameters: {},
  state: 'COMPLETED',
  submittedAt: 0,
  expiresAt: 90_000,
};

for (const [what, cachePolicy, now, expected] of [
  ['an execution, until it expires', { kind: 'immutable' }, 30_000, 'private, max-age=60'],
  ['an execution that has expired', { kind: 'immutable' }, 100_000, 'private, max-age=0'],
  ['a query, never unasked', { kind: 'revalidate' }, 0, 'private, no-cache'],
  ['a dataset, until its next refresh', { kind: 'until', instant: 20_500, since: 0 }, 10_000, 'private, max-age=10'],
  ['a dataset whose result expires first', { kind: 'until', instant: 2e5, since: 0 }, 80_000, 'private, max-age=10'],
  [
    'a dataset whose refresh is overdue, never unasked',
    { kind: 'until', instant: 9, since: 1 },
    2,
    'private, no-cache',
  ],
] as const) {
  test(`cache control: ${what}`, () => assert.equal(cacheControlOf(cachePolicy, execution, now), expected));
}

test('an execution without an expiry may be kept for a year', () => {
  const { expiresAt: _, ...endless } = execution;
  assert.equal(cacheControlOf({ kind: 'immutable' }, endless, 0), 'private, max-age=31536000');
});

test('an ETag is a function of the identity', () => {
  assert.equal(etagOf('a'), etagOf('a'));
  assert.notEqual(etagOf('a'), etagOf('b'));
  assert.match(etagOf('a'), /^"[\w-]{27}"$/);
});

test('If-None-Match finds the answer in any encoding, among other tags, weak or strong', () => {
  const etag = etagOf('a');
  for (const header of [etag, `W/${etag}`, `"x", ${etag}`, encodedEtag(etag, 'zstd'), '*']) {
    assert.ok(matchesEtag(header, etag), header);
  }
  assert.equal(matchedTag('"x", W/"abc+br-1"', '"abc"'), 'W/"abc+br-1"', 'as the client wrote it');
  for (const header of [undefined, '', '"x"', encodedEtag('"x"', 'br')]) assert.ok(!matchesEtag(header, etag), header);
});
