import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TokenBuckets } from './token-buckets.ts';

function bucketsWith(options: { readonly perSecond: number; readonly burst: number; readonly namesMax?: number }) {
  const clock = { millis: 0 };
  return { clock, buckets: new TokenBuckets({ namesMax: 10, ...options, monotonic: () => clock.millis }) };
}

test('a burst at once, then as fast as the bucket refills; each name has its own', () => {
  const { clock, buckets } = bucketsWith({ perSecond: 2, burst: 3 });
  assert.deepEqual(buckets.take('a'), { allowed: true, remaining: 2, seconds: 1 });
  assert.deepEqual(buckets.take('a'), { allowed: true, remaining: 1, seconds: 1 });
  assert.deepEqual(buckets.take('a'), { allowed: true, remaining: 0, seconds: 1 });
  assert.deepEqual(buckets.take('a'), { allowed: false, remaining: 0, seconds: 1 });
  assert.equal(buckets.take('b').allowed, true);
  clock.millis = 499;
  assert.equal(buckets.take('a').allowed, false);
  clock.millis = 500;
  assert.equal(buckets.look('a').allowed, true);
  assert.equal(buckets.take('a').allowed, true);
  clock.millis = 1e9;
  assert.equal(buckets.look('a').remaining, 3);
});

test('a slow bucket tells how long to wait, for one token or for all', () => {
  const { clock, buckets } = bucketsWith({ perSecond: 0.1, burst: 2 });
  assert.deepEqual(buckets.take('a'), { allowed: true, remaining: 1, seconds: 10 });
  assert.deepEqual(buckets.take('a'), { allowed: true, remaining: 0, seconds: 10 });
  clock.millis = 4000;
  assert.deepEqual(buckets.take('a'), { allowed: false, remaining: 0, seconds: 6 });
});

test('the number of names is bounded: the oldest is forgotten', () => {
  const { buckets } = bucketsWith({ perSecond: 1, burst: 1, namesMax: 2 });
  for (const name of ['a', 'b', 'c']) buckets.take(name);
  assert.equal(buckets.size, 2);
  assert.equal(buckets.take('c').allowed, false);
});

test('never more than the burst and what has refilled since', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.integer({ min: 0, max: 2000 }), { maxLength: 200 }),
      (perSecond, burst, pauses) => {
        const { clock, buckets } = bucketsWith({ perSecond, burst });
        let allowed = 0;
        for (const pause of pauses) {
          clock.millis += pause;
          if (buckets.take('a').allowed) allowed += 1;
        }
        assert(allowed <= burst + (clock.millis / 1000) * perSecond + 1e-6);
      },
    ),
  );
});

test('a share of the tokens can be taken at once, and unused ones given back, up to the burst', () => {
  const { clock, buckets } = bucketsWith({ perSecond: 1, burst: 10 });
  assert.equal(buckets.takeShare('a', 4), 2);
  assert.equal(buckets.look('a').remaining, 8);
  assert.equal(buckets.takeShare('a', 100), 1);
  buckets.giveBack('a', 1);
  assert.equal(buckets.look('a').remaining, 8);
  clock.millis = 1e9;
  buckets.giveBack('a', 5);
  assert.equal(buckets.look('a').remaining, 10);
  assert.equal(buckets.takeShare('a', 1), 10);
  assert.equal(buckets.takeShare('a', 1), 0);
});
