/** What every answer brings along: ids, times, protection, other origins; and what proxies may say. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rawRequest } from './http-client.ts';
import { startHttpService } from './http-service.ts';

test("every answer has an id: the client's own, if it can be written", async (t) => {
  const service = await startHttpService(t);
  const idOf = async (path: string, given?: string) => {
    const headers = given === undefined ? {} : { 'x-request-id': given };
    return (await service.get(path, { headers })).headers.get('x-request-id');
  };
  assert.equal(await idOf('/v1/query/7/results', 'build-42/step:3'), 'build-42/step:3');
  assert.equal(await idOf('/healthz', 'probe'), 'probe');
  const ours = /^[0-9a-f]{24}$/;
  assert.match((await idOf('/v1/nothing')) ?? '', ours);
  assert.match((await idOf('/v1/nothing', 'a "quoted" one')) ?? '', ours);
  assert.match((await idOf('/v1/nothing', 'x'.repeat(129))) ?? '', ours);
});

test('every answer says how long its stages took, and protects its reader', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'n\n1\n');
  const { headers } = await service.get('/v1/query/7/results');
  assert.match(
    headers.get('server-timing') ?? '',
    /^authenticate;dur=[\d.]+, resolve;dur=[\d.]+, plan;dur=[\d.]+, open;dur=[\d.]+, read;dur=[\d.]+$/,
  );
  for (const path of ['/v1/query/7/results', '/v1/nothing', '/healthz', '/docs']) {
    const answer = await service.get(path);
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
    assert.match(answer.headers.get('content-security-policy') ?? '', /^default-src 'none'.*frame-ancestors 'none'$/);
  }
});

test('web pages of the named origins may read answers, and errors too', async (t) => {
  const service = await startHttpService(t, { QRS_CORS_ORIGINS: 'https://app.example.com, http://localhost:3000' });
  const allowed = async (origin: string, path = '/v1/query/7/results') => {
    const { headers } = await service.get(path, { headers: { origin } });
    assert.match(headers.get('vary') ?? '', /origin/);
    return [headers.get('access-control-allow-origin'), headers.get('access-control-expose-headers')];
  };
  assert.deepEqual(await allowed('https://app.example.com'), ['https://app.example.com', '*']);
  assert.deepEqual(await allowed('http://localhost:3000', '/openapi.json'), ['http://localhost:3000', '*']);
  assert.deepEqual(await allowed('https://evil.example.com'), [null, null]);
});

test("a browser's preflight request needs no key", async (t) => {
  const service = await startHttpService(t, { QRS_CORS_ORIGINS: '*' });
  const preflight = {
    method: 'OPTIONS',
    key: '',
    headers: {
      origin: 'https://app.example.com',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'x-service-api-key',
    },
  };
  const { status, headers } = await service.get('/v1/query/7/results', preflight);
  assert.equal(status, 204);
  assert.equal(headers.get('access-control-allow-origin'), '*');
  assert.equal(headers.get('access-control-allow-methods'), 'GET, HEAD, POST, PUT, PATCH, DELETE');
  assert.equal(
    headers.get('access-control-allow-headers'),
    'X-Service-Api-Key, X-Dune-Api-Key, authorization, content-digest, content-encoding, content-type, idempotency-key, if-none-match, if-range, mcp-protocol-version, range, traceparent, want-repr-digest, x-request-id',
  );
  const { headers: got } = await service.get('/v1/nothing', { headers: { origin: 'https://app.example.com' } });
  assert.equal(got.get('access-control-allow-origin'), '*');
});

test('without the setting no other origin may read, and OPTIONS is refused', async (t) => {
  const service = await startHttpService(t);
  const headers = { origin: 'https://app.example.com', 'access-control-request-method': 'GET' };
  const answer = await service.get('/v1/query/7/results', { method: 'OPTIONS', headers });
  assert.deepEqual([answer.status, answer.headers.get('access-control-allow-origin')], [404, null]);
});

for (const [name, environment, expected] of [
  ['nobody is believed by default', {}, /^http:\/\/127\.0\.0\.1:\d+\/v1\//],
  ['a proxy that is trusted is', { QRS_TRUST_PROXY: '1' }, /^https:\/\/results\.example\.com\/v1\//],
  ['a proxy elsewhere is not', { QRS_TRUST_PROXY: '10.0.0.0/8' }, /^http:\/\/127\.0\.0\.1:\d+\/v1\//],
] as const) {
  test(`how the client addressed the service, from behind a proxy: ${name}`, async (t) => {
    const service = await startHttpService(t, environment);
    await service.publish(7, 'n\n1\n2\n');
    const { body } = await rawRequest(service.url, '/v1/query/7/results?limit=1', {
      'x-service-api-key': service.key,
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'results.example.com',
      'x-forwarded-for': '203.0.113.7',
    });
    assert.match(JSON.parse(body).next_uri, expected);
  });
}
