import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestError } from '../errors/errors.ts';
import { FailedKeys } from './failed-keys.ts';

const from = (address: string) => () => address;

function afterFailures(address: string, count: number): FailedKeys {
  const keys = new FailedKeys({ perMinute: 3, monotonic: () => 0 });
  for (let number = 0; number < count; number += 1) keys.failed(from(address), `wrong${number}`);
  return keys;
}

test('after too many wrong keys an address waits, and only that one', () => {
  const keys = afterFailures('10.0.0.1', 3);
  assert.throws(
    () => keys.check(from('10.0.0.1'), 'other'),
    (error) => error instanceof RequestError && error.code === 'rate_limited' && error.retryAfterSeconds === 20,
  );
  keys.check(from('10.0.0.2'), 'other');
  afterFailures('10.0.0.1', 2).check(from('10.0.0.1'), 'other');
});

test('a key that was right before may go on, until it is wrong', () => {
  const keys = afterFailures('10.0.0.1', 3);
  keys.succeeded('good');
  keys.check(from('10.0.0.1'), 'good');
  keys.failed(from('10.0.0.1'), 'good');
  assert.throws(() => keys.check(from('10.0.0.1'), 'good'), RequestError);
});

test('all addresses of an IPv6 /64 are one', () => {
  const keys = afterFailures('2001:db8:0:1::1', 3);
  assert.throws(() => keys.check(from('2001:db8::1:ffff:0:0:2'), 'other'), RequestError);
  keys.check(from('2001:db8:0:2::1'), 'other');
});

test('0 is no limit', () => {
  const keys = new FailedKeys({ perMinute: 0, monotonic: () => 0 });
  for (let number = 0; number < 1000; number += 1) keys.failed(from('::1'), `wrong${number}`);
  keys.check(from('::1'), 'other');
});
