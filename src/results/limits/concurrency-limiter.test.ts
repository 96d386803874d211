import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeTime } from '../../../test/fake-time.ts';
import { ConcurrencyLimiter } from './concurrency-limiter.ts';

const never = new AbortController().signal;

test('the heavy reads of one key are limited and refused at once; those of all keys are limited, and wait', async () => {
  const limits = { heavyReadsMax: 3, heavyReadsPerKeyMax: 2, heavyReadsWaitMillis: 60_000 };
  const limiter = new ConcurrencyLimiter(limits, new FakeTime(0).sleep);
  const first = await limiter.acquire('ann', never);
  await limiter.acquire('ann', never);
  const refusal = { code: 'rate_limited', status: 429, retryAfterSeconds: 5 };
  await assert.rejects(limiter.acquire('ann', never), refusal);
  await limiter.acquire('bob', never);
  const waiting = limiter.acquire('bob', never);
  assert.deepEqual([limiter.running, limiter.waiting], [3, 1]);
  await assert.rejects(limiter.acquire('bob', never), refusal);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  const place = await waiting;
  assert.deepEqual([limiter.running, limiter.waiting], [3, 0]);
  place[Symbol.dispose]();
  await limiter.acquire('ann', never);
  assert.equal(limiter.running, 3);
});

test('a read that waits too long, or leaves, takes no place', async () => {
  const time = new FakeTime(0);
  const limits = { heavyReadsMax: 1, heavyReadsPerKeyMax: 1, heavyReadsWaitMillis: 60_000 };
  const limiter = new ConcurrencyLimiter(limits, time.sleep);
  const place = await limiter.acquire('ann', never);
  const refused = assert.rejects(limiter.acquire('bob', never), {
    code: 'overloaded',
    status: 503,
    retryAfterSeconds: 5,
    message:
      '1 exports or large sorted or filtered reads are in flight, and none ended in 60 s; try again in some seconds',
  });
  time.advance(59_999);
  assert.equal(limiter.waiting, 1);
  time.advance(1);
  await refused;
  assert.equal(limiter.waiting, 0);
  const gone = new AbortController();
  const patient = new ConcurrencyLimiter(limits, time.sleep);
  await patient.acquire('ann', never);
  const waiting = patient.acquire('bob', gone.signal);
  gone.abort(new Error('gone'));
  await assert.rejects(waiting, { message: 'gone' });
  assert.equal(patient.waiting, 0);
  place[Symbol.dispose]();
  const again = await limiter.acquire('bob', never);
  again[Symbol.dispose]();
  assert.equal(limiter.running, 0);
});

test('keys take turns at the places', async () => {
  const limits = { heavyReadsMax: 3, heavyReadsPerKeyMax: 9, heavyReadsWaitMillis: 60_000 };
  const limiter = new ConcurrencyLimiter(limits, new FakeTime(0).sleep);
  const places = await Promise.all([1, 2, 3].map(() => limiter.acquire('ann', never)));
  const order: string[] = [];
  const add = (key: string) => limiter.acquire(key, never).then(() => order.push(key));
  const waiting = [add('ann'), add('ann'), add('bob')];
  for (const place of places) place[Symbol.dispose]();
  await Promise.all(waiting);
  assert.deepEqual(order, ['ann', 'bob', 'ann']);
});
