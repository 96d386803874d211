import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestError } from '../errors/errors.ts';
import { AuthFailureLimiter } from './auth-failure-limiter.ts';

function afterFailures(address: string, count: number): AuthFailureLimiter {
  const keys = new AuthFailureLimiter({ perMinute: 3, monotonic: () => 0 });
  for (let number = 0; number < count; number += 1) keys.count(address);
  return keys;
}

test('after too many wrong keys an address has to wait, and only that address', () => {
  const keys = afterFailures('10.0.0.1', 3);
  assert.throws(
    () => keys.count('10.0.0.1'),
    (error) => error instanceof RequestError && error.code === 'rate_limited' && error.retryAfterSeconds === 20,
  );
  keys.count('10.0.0.2');
  afterFailures('10.0.0.1', 2).count('10.0.0.1');
});

test('all addresses of an IPv6 /64 count as one', () => {
  const keys = afterFailures('2001:db8:0:1::1', 3);
  assert.throws(() => keys.count('2001:db8::1:ffff:0:0:2'), RequestError);
  keys.count('2001:db8:0:2::1');
});

test('0 means no limit', () => {
  const keys = new AuthFailureLimiter({ perMinute: 0, monotonic: () => 0 });
  for (let number = 0; number < 1000; number += 1) keys.count('::1');
});
