/** Addresses that webhooks may not have. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPublicAddress, urlProblem } from './public-address.ts';

test('addresses of the public internet are public, and nothing else is', () => {
  const open = [
    '1.1.1.1',
    '93.184.215.14',
    '172.15.255.255',
    '172.32.0.0',
    '100.128.0.1',
    '198.20.0.1',
    '223.255.255.255',
  ];
  const openV6 = ['2606:2800:220:1::1', '2001:4860:4860::8888', '2a00::1', '3ffe:ffff::1'];
  const closed = [
    ...['0.0.0.0', '0.1.2.3', '10.0.0.1', '100.64.0.1', '127.0.0.1', '127.255.255.255', '169.254.169.254'],
    ...['172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.2.1', '192.168.1.1', '198.18.0.1', '198.51.100.7'],
    ...['203.0.113.9', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
    ...['::', '::1', '::ffff:8.8.8.8', '::ffff:127.0.0.1', '::8.8.8.8', '64:ff9b::8.8.8.8', '64:ff9b:1::1', '100::1'],
    ...['2001::1', '2001:db8::1', '2002:7f00:1::1', '3fff::1', 'fc00::1', 'fd12::1', 'fe80::1', 'fe80::1%eth0'],
    ...['fec0::1', 'ff02::1', '2606:4700::1%eth0', '4000::1', 'example.com', ''],
  ];
  assert.deepEqual(
    [...open, ...openV6].filter((address) => !isPublicAddress(address)),
    [],
  );
  assert.deepEqual(closed.filter(isPublicAddress), []);
});

test('a URL is refused for what it is, without its secrets', () => {
  const strict = (text: string) => urlProblem(text, { allowsPrivate: false });
  assert.equal(strict('https://example.com/hook?token=1'), undefined);
  assert.equal(strict('http://93.184.215.14:8443/'), undefined);
  assert.equal(strict('https://[2606:2800:220:1::1]/'), undefined);
  assert.equal(strict('example.com/hook'), 'no URL');
  assert.equal(strict('ftp://example.com/'), 'a URL of ftp');
  assert.equal(strict('https://ann:pass@example.com/'), 'a URL with a user or a password');
  assert.equal(strict('https://example.com/#x'), 'a URL with a fragment');
  assert.equal(strict(`https://example.com/${'x'.repeat(2000)}`), 'more than 2000 characters');
  const spelled = [
    'http://127.0.0.1/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0177.0.0.1/',
  ];
  for (const text of spelled) assert.equal(strict(text), 'a URL of 127.0.0.1, which is no public address', text);
  for (const host of ['localhost', 'LOCALHOST', 'a.localhost', 'localhost.', '[::1]', '[::ffff:127.0.0.1]', '0']) {
    assert.match(String(strict(`http://${host}:8080/`)), /^a URL of .*, which is no public address$/, host);
    assert.equal(urlProblem(`http://${host}:8080/`, { allowsPrivate: true }), undefined);
  }
  assert.equal(urlProblem('http://a:b@127.0.0.1/', { allowsPrivate: true }), 'a URL with a user or a password');
});
