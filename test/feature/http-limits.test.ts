/** How often a key may ask, how often an address may send wrong keys, and how long a client may take. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { startHttpService } from './http-service.ts';

test('a key that asks too often gets 429 with Retry-After, and headers that say what is left', async (t) => {
  const service = await startHttpService(t, { QRS_RATE_LIMIT: '0.01', QRS_RATE_BURST: '2' });
  await service.commandLine.get('users', 'add', 'bob');
  const bob = await service.commandLine.get('keys', 'create', '--user', 'bob');
  const seen: (readonly [number, string | null, string | null])[] = [];
  for (let number = 0; number < 3; number += 1) {
    const { status, headers } = await service.get('/v1/query/7/results');
    assert.equal(headers.get('ratelimit-policy'), '"default";q=2;w=200');
    seen.push([status, headers.get('ratelimit'), headers.get('retry-after')]);
  }
  assert.deepEqual(seen, [
    [404, '"default";r=1;t=100', null],
    [404, '"default";r=0;t=100', null],
    [429, '"default";r=0;t=100', '100'],
  ]);
  const refused = await service.get('/v1/query/7/results');
  assert.equal(refused.headers.get('x-error-code'), 'rate_limited');
  assert.equal(await refused.text(), '{"error":"this key may ask 0.01 times a second; try again in 100 s"}');
  assert.equal((await service.get('/v1/query/7/results', { key: bob })).status, 404, 'another key is not concerned');
  assert.equal((await service.get('/readyz', { key: '' })).status, 200, 'nor is what needs no key');
});

test('without a limit there are no such fields', async (t) => {
  const service = await startHttpService(t);
  const { headers } = await service.get('/v1/query/7/results');
  assert.deepEqual([headers.get('ratelimit'), headers.get('ratelimit-policy')], [null, null]);
});

test('an address that tries keys is told to wait; a good key from there never is', async (t) => {
  const service = await startHttpService(t, { QRS_FAILED_KEYS_PER_MINUTE: '2', QRS_TRUST_PROXY: 'loopback' });
  const guess = async (key: string, address = '203.0.113.7') =>
    (await service.get('/v1/query/7/results', { key, headers: { 'x-forwarded-for': address } })).status;
  assert.deepEqual([await guess('a'), await guess('b'), await guess('c')], [401, 401, 429]);
  assert.equal(await guess(service.key), 404, 'a key that was not seen before');
  for (let number = 0; number < 100; number += 1)
    assert.equal(await guess(`qrs_${'0'.repeat(38)}${number % 10}a`), 429);
  assert.equal(await guess(service.key), 404);
  const another = await service.commandLine.get('keys', 'create', '--user', 'ann');
  assert.equal(await guess(another), 404, 'nor a key made meanwhile');
  assert.equal(await guess('d', '203.0.113.8'), 401);
  assert.equal((await service.get('/v1/query/7/results', { key: '' })).status, 401, 'no key is no guess');
});

async function open(t: { after(close: () => void): void }, url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

function bodyOf(answer: string): unknown {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')));
}

test('a head that never ends is answered 408 and the connection closed', async (t) => {
  const service = await startHttpService(t, { QRS_HEADERS_TIMEOUT: '100ms' });
  const socket = await open(t, service.url);
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ');
  const answer = await text(socket);
  assert.match(answer, /^HTTP\/1\.1 408 /);
  assert.match(answer, /\r\nx-error-code: bad_request\r\n/);
  assert.deepEqual(bodyOf(answer), { error: 'the request did not arrive in time' });
});

test('a connection that never says anything is closed', async (t) => {
  const service = await startHttpService(t, { QRS_HEADERS_TIMEOUT: '100ms' });
  assert.match(await text(await open(t, service.url)), /^HTTP\/1\.1 408 /);
});

test('a client that reads nothing of its answers is cut off, also with answers from before the router', async (t) => {
  const service = await startHttpService(t, { QRS_STALLED_TIMEOUT: '1s' });
  await service.publish(7, `w\n${`${'x'.repeat(1000)}\n`.repeat(20_000)}`);
  const stall = async (path: string, times: number) => {
    const socket = await open(t, service.url);
    socket.pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Service-Api-Key: ${service.key}\r\n\r\n`.repeat(times));
  };
  const cut = (how: 'ordinary' | 'hot') => () =>
    service.observed.some(
      (seen) => seen.kind === 'answered' && seen.aborted && (how === 'hot') === (seen.stats.stageMillis.size === 0),
    );
  const until = async (condition: () => boolean) => {
    while (!condition()) await new Promise((resolve) => setImmediate(resolve));
  };
  await stall('/v1/query/7/results/csv', 1);
  await until(cut('ordinary'));
  // Pages of 1 MB, answered from memory: together more than an unread connection can hold. So large a page is kept at its second asking, and
  // answered before the router from its fourth on.
  const page = '/v1/query/7/results?limit=1000';
  for (const answers of [2, 3, 4]) {
    await stall(page, 1);
    await until(() => service.observed.filter((seen) => seen.kind === 'answered').length === answers);
  }
  await stall(page, 20);
  await until(cut('hot'));
  assert.match(await (await service.get('/metrics')).text(), /^qrs_http_requests_under_way 1$/m);
});

test('a client that reads nothing is cut after the time set, not after twice that time', async (t) => {
  const service = await startHttpService(t, { QRS_STALLED_TIMEOUT: '5s' });
  await service.publish(7, `w\n${`${'x'.repeat(1000)}\n`.repeat(20_000)}`);
  const socket = await open(t, service.url);
  socket.pause();
  socket.write(`GET /v1/query/7/results/csv HTTP/1.1\r\nHost: x\r\nX-Service-Api-Key: ${service.key}\r\n\r\n`);
  const seen = () => service.observed.find((one) => one.kind === 'answered');
  while (seen() === undefined) await new Promise((resolve) => setImmediate(resolve));
  const { aborted, millis } = seen() ?? { aborted: false, millis: 0 };
  assert(aborted);
  assert(millis > 4800 && millis < 9500, `${millis} ms`);
});

test('answers that clients do not take are bounded for each key, until they have gone', async (t) => {
  // 64 MB of answers may wait, half of them for one key.
  const service = await startHttpService(t, { QRS_MEMORY: '512MB' });
  const wide = 'x'.repeat(2000);
  await service.publish(7, `n,text\n${Array.from({ length: 7000 }, (_, n) => `${n},${wide}\n`).join('')}`);
  const waiting: Socket[] = [];
  const { hostname, port } = new URL(service.url);
  /** A client that sees that an answer has begun, and reads no more of it. */
  const wait = async (path: string) => {
    const socket = connect({ host: hostname, port: Number(port) });
    waiting.push(socket);
    socket.on('error', () => undefined);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Service-Api-Key: ${service.key}\r\n\r\n`);
    await once(socket, 'readable');
  };
  t.after(() => waiting.forEach((socket) => void socket.destroy()));
  const ask = async (query: string, key = service.key) => {
    const answer = await service.get(`/v1/query/7/results?${query}`, {
      key,
      headers: { 'accept-encoding': 'identity' },
    });
    const text = await answer.text();
    return [answer.status, answer.status === 200 ? text.length > 13_000_000 : text] as const;
  };
  for (const path of ['/v1/query/7/results?offset=1', '/v1/query/7/results?offset=2']) await wait(path);
  assert.equal((await ask('limit=1'))[0], 200, 'a small answer is let in');
  const [status, told] = await ask('offset=3');
  assert.equal(status, 429);
  assert.match(String(told), /^{"error":"this key has not taken 28 MB of its answers, as much as may wait for one key/);
  await service.commandLine.get('users', 'add', 'bob');
  const bob = await service.commandLine.get('keys', 'create', '--user', 'bob');
  assert.deepEqual(await ask('offset=3', bob), [200, true]);
  for (const socket of waiting) socket.destroy();
  const gone = () => service.observed.filter((seen) => seen.kind === 'answered' && seen.aborted).length;
  while (gone() < 2) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(await ask('offset=3'), [200, true]);
});

test('a head that is too long gets 431, and bytes that are not HTTP 400, each in the shape of all errors', async (t) => {
  const service = await startHttpService(t, { QRS_HEADER_BYTES_MAX: '8KiB' });
  const long = await open(t, service.url);
  long.write(`GET /v1/query/7/results?filters=${'x'.repeat(9000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
  const refused = await text(long);
  assert.match(refused, /^HTTP\/1\.1 431 /);
  assert.deepEqual(bodyOf(refused), {
    error: 'the address and headers are too long; QRS_HEADER_BYTES_MAX is the limit',
  });
  // What is no method of HTTP is not read any further, so that its key is not looked at.
  for (const request of ['HELLO\r\n\r\n', 'FOO /v1/query/7/results HTTP/1.1\r\nHost: x\r\n\r\n']) {
    const wrong = await open(t, service.url);
    wrong.write(request);
    const malformed = await text(wrong);
    assert.match(malformed, /^HTTP\/1\.1 400 /);
    assert.deepEqual(bodyOf(malformed), { error: 'the request is not well-formed HTTP' });
  }
});

test('an idle connection is closed', async (t) => {
  const service = await startHttpService(t, { QRS_IDLE_TIMEOUT: '1' });
  const socket = await open(t, service.url);
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
  assert.match(await text(socket), /^HTTP\/1\.1 200 /);
});

test('connections beyond the limit are closed at once', async (t) => {
  const service = await startHttpService(t, { QRS_CONNECTIONS_MAX: '1' });
  const first = await open(t, service.url);
  const second = await open(t, service.url);
  second.on('error', () => undefined);
  await once(second, 'close');
  first.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  assert.match(await text(first), /^HTTP\/1\.1 200 /);
});
