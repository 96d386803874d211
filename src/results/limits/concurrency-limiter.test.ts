import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';

test('one key may have so many heavy reads, all keys together so many', () => {
  const limiter = new ConcurrencyLimiter({ heavyReadsMax: 3, heavyReadsPerKeyMax: 2 });
  const first = limiter.acquire('ann');
  limiter.acquire('ann');
  assert.throws(() => limiter.acquire('ann'), { code: 'rate_limited', status: 429, retryAfterSeconds: 5 });
  limiter.acquire('bob');
  assert.throws(() => limiter.acquire('bob'), { code: 'overloaded', status: 503, retryAfterSeconds: 5 });
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  assert.equal(limiter.total, 2);
  limiter.acquire('ann');
  assert.equal(limiter.total, 3);
});
