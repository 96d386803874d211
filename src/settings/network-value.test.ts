import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trustedProxies, webOrigins } from './network-value.ts';
import { BadValue } from './setting-value.ts';

test('whom to trust: nobody, everybody, a number of proxies, networks', () => {
  assert.equal(trustedProxies(''), false);
  assert.equal(trustedProxies('False'), false);
  assert.equal(trustedProxies('true'), true);
  assert.equal(trustedProxies('1'), 1);
  assert.deepEqual(trustedProxies('10.0.0.0/8, ::1,Loopback'), ['10.0.0.0/8', '::1', 'loopback']);
  for (const bad of ['yes', '11', '10.0.0.0/33', '10.0.0.0/8/8', 'example.com', '10.0.0.1,']) {
    assert.throws(() => trustedProxies(bad), BadValue, bad);
  }
});

test('origins are a scheme and a host, and nothing else', () => {
  assert.deepEqual(webOrigins(''), []);
  assert.deepEqual(webOrigins('*'), ['*']);
  assert.deepEqual(webOrigins('https://a.example/, http://localhost:3000'), [
    'https://a.example',
    'http://localhost:3000',
  ]);
  for (const bad of ['a.example', 'https://a.example/path', 'ftp://a.example', 'https://A.example', 'null']) {
    assert.throws(() => webOrigins(bad), BadValue, bad);
  }
});
