/** When a message is tried again, and when it is not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { verdictOn } from './next-attempt.ts';
import type { PostOutcome } from './post.ts';

const NOON = Date.UTC(2024, 2, 5, 12);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

function verdict(outcome: PostOutcome, attempts: number, ageMillis: number, drawn = 0.5) {
  return verdictOn(outcome, { attempts, ageMillis }, { clock: () => NOON, random: () => drawn });
}

function answered(status: number, retryAfter?: string): PostOutcome {
  return { kind: 'answered', status, ...(retryAfter !== undefined && { retryAfter }) };
}

function retryIn(outcome: PostOutcome, attempts = 0, ageMillis = 0, drawn = 0.5): number | undefined {
  const { kind, retryInMillis } = { retryInMillis: undefined, ...verdict(outcome, attempts, ageMillis, drawn) };
  assert.equal(kind, 'failed');
  return retryInMillis;
}

test('2xx has arrived, 410 ends the webhook, and everything else is tried again', () => {
  for (const status of [200, 202, 204, 299]) {
    assert.deepEqual(verdict(answered(status), 0, 0), { kind: 'delivered', status });
  }
  assert.deepEqual(verdict(answered(410), 0, 0), { kind: 'gone', status: 410, error: 'answered 410: it is gone' });
  for (const status of [199, 400, 401, 404, 429, 500, 503]) {
    const error = `answered ${status}`;
    assert.deepEqual(verdict(answered(status), 0, 0), { kind: 'failed', status, error, retryInMillis: 5000 });
  }
  assert.deepEqual(verdict(answered(307), 0, 0), {
    kind: 'failed',
    status: 307,
    error: 'answered 307, and redirects are not followed',
    retryInMillis: 5000,
  });
  assert.deepEqual(verdict({ kind: 'failed', error: 'no answer within 15 s' }, 1, 0), {
    kind: 'failed',
    error: 'no answer within 15 s',
    retryInMillis: 30_000,
  });
});

test('the pauses grow for a day, and the last attempt is when it is over', () => {
  let ageMillis = 0;
  const ages: number[] = [];
  for (let attempts = 0; ; attempts += 1) {
    const millis = retryIn(answered(500), attempts, ageMillis);
    if (millis === undefined) break;
    ageMillis += millis;
    ages.push(ageMillis / 1000);
  }
  assert.deepEqual(ages, [5, 35, 155, 755, 2555, 6155, 13_355, 27_755, 42_155, 56_555, 70_955, 85_355, 86_400]);
  assert.equal(retryIn(answered(500, '60'), 3, DAY), undefined);
});

test('chance makes a pause longer or shorter by up to a fifth', () => {
  assert.equal(retryIn(answered(500), 0, 0, 0), 4000);
  assert.equal(retryIn(answered(500), 0, 0, 0.999_999_999), 6000);
});

test('Retry-After makes a pause longer, in seconds or as a time, up to four hours', () => {
  assert.equal(retryIn(answered(503, '120')), 120_000);
  assert.equal(retryIn(answered(429, '1')), 5000);
  assert.equal(retryIn(answered(503, 'Tue, 05 Mar 2024 12:10:00 GMT')), 600_000);
  assert.equal(retryIn(answered(503, 'Tue, 05 Mar 2024 11:00:00 GMT')), 5000);
  assert.equal(retryIn(answered(503, '999999999')), 4 * HOUR);
  assert.equal(retryIn(answered(503, '7200'), 0, DAY - HOUR), HOUR);
  for (const nonsense of ['soon', '-5', '']) assert.equal(retryIn(answered(503, nonsense)), 5000, nonsense);
});

test('a clock that was set back does not stretch the day', () => {
  assert.equal(retryIn(answered(500), 20, -HOUR), 4 * HOUR);
});
