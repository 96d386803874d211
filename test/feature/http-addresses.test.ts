/** Contract §1: addresses, methods, and the places for a key. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getText, rawRequest } from './http-client.ts';
import { startHttpService } from './http-service.ts';

test('addresses', async (t) => {
  const service = await startHttpService(t);
  const { id } = await service.publish(7, 'n,w\n1,x\n2,y\n3,z\n');
  const addresses = [
    `/execution/${id}/results`,
    `/execution/${id}/results/csv`,
    `/execution/${id}/status`,
    '/query/7/results',
    '/query/7/results/csv',
  ];

  await t.test('each answers under /v1 and, but for the prefix in next_uri, identically under /api/v1', async () => {
    for (const address of addresses) {
      const plain = await service.get(`/v1${address}?limit=2`);
      const prefixed = await service.get(`/api/v1${address}?limit=2`);
      assert.deepEqual([plain.status, prefixed.status], [200, 200]);
      assert.equal(prefixed.headers.get('content-type'), plain.headers.get('content-type'));
      assert.equal((await prefixed.text()).replaceAll('/api/v1/', '/v1/'), await plain.text());
    }
  });

  await t.test('a trailing slash is accepted, without a redirect', async () => {
    for (const address of addresses) {
      for (const prefix of ['/v1', '/api/v1']) {
        const [status, text] = await getText(service, `${prefix}${address}/?limit=3`);
        assert.equal(status, 200);
        assert.equal(text, (await getText(service, `${prefix}${address}?limit=3`))[1]);
      }
    }
  });

  await t.test('HEAD answers as GET does, without the body', async () => {
    for (const address of addresses) {
      const head = await service.get(`/v1${address}?limit=2`, { method: 'HEAD' });
      const get = await service.get(`/v1${address}?limit=2`);
      assert.equal(head.status, 200);
      assert.equal(await head.text(), '');
      for (const name of ['content-type', 'content-length', 'link', 'x-service-next-uri', 'x-dune-next-offset']) {
        assert.equal(head.headers.get(name), get.headers.get(name), name);
      }
    }
    const missing = await service.get('/v1/query/8/results', { method: 'HEAD' });
    assert.deepEqual([missing.status, missing.headers.get('x-error-code')], [404, 'query_not_found']);
  });

  await t.test('another method is 404, also with a body', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      for (const address of addresses) {
        const headers = { 'x-service-api-key': service.key, 'content-type': 'application/json' };
        const answer = await fetch(`${service.url}/v1${address}`, { method, headers, body: '{"performance":"large"}' });
        // Results are published at this address, which a reading key may not do.
        if (
          `${method} ${address}` === 'POST /query/7/results' ||
          `${method} ${address}` === `PUT /execution/${id}/results`
        ) {
          assert.deepEqual([answer.status, await answer.text()], [403, '{"error":"this API key may only read"}']);
          continue;
        }
        assert.equal(answer.status, 404);
        assert.equal(await answer.text(), `{"error":"not found: ${method} /v1${address}"}`);
      }
    }
    // Announces a body and sends none: nothing may wait for it.
    const headers = { 'x-service-api-key': service.key, 'content-type': 'application/json' };
    const answer = await rawRequest(service.url, '/v1/query/7/results', headers, 'DELETE');
    assert.deepEqual([answer.status, answer.body], [404, '{"error":"not found: DELETE /v1/query/7/results"}']);
  });

  await t.test('an unknown route is 404 and says the path', async () => {
    for (const path of ['/v1', '/v1/query', '/v1/query/7/rows', '/v2/query/7/results', `/v1/execution/${id}/rows`]) {
      assert.deepEqual(await getText(service, `${path}?limit=1`), [404, `{"error":"not found: GET ${path}"}`]);
    }
    // The path is case-sensitive, as addresses are.
    assert.equal((await getText(service, '/V1/query/7/results'))[0], 404);
  });

  await t.test('never a redirect', async () => {
    for (const path of ['/v1/', '//v1/query/7/results', '/v1//query/7/results', '/v1/query/7/results//', '/api']) {
      const { status, headers } = await service.get(path);
      assert.deepEqual([status, headers.get('location')], [404, null], path);
    }
  });

  await t.test('the key is checked before the route and the method', async () => {
    for (const [method, path] of [
      ['GET', '/v1/nothing'],
      ['GET', '/nothing'],
      ['POST', '/v1/query/7/results'],
      ['DELETE', '/nothing'],
      ['GET', '/v1/execution/malformed/results'],
    ] as const) {
      for (const key of ['', 'qrs_wrong']) {
        const response = await service.get(path, { key, method });
        assert.deepEqual([response.status, await response.text()], [401, '{"error":"invalid API Key"}']);
      }
    }
  });

  await t.test('health answers are never cached', async () => {
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      assert.equal((await service.get(path, { key: '' })).headers.get('cache-control'), 'no-store', path);
    }
  });

  await t.test('health, metrics and documentation need no key', async () => {
    for (const path of ['/metrics', '/docs', '/openapi.json', '/llms.txt', '/']) {
      assert.equal((await getText(service, path, ''))[0], 200, path);
    }
    assert.deepEqual(await getText(service, '/healthz', ''), [200, '{"status":"ok"}']);
    assert.deepEqual(await getText(service, '/readyz', ''), [200, '{"status":"ready"}']);
  });

  await t.test('an execution id is accepted in either case', async () => {
    assert.equal((await service.json(`/v1/execution/${id.toLowerCase()}/results`)).execution_id, id);
  });
});

test('keys', async (t) => {
  const service = await startHttpService(t);
  const { id } = await service.publish(7, 'n\n1\n2\n3\n');
  const { key, url } = service;
  const path = '/v1/query/7/results';
  const statusWith = async (headers: Readonly<Record<string, string>>, query = '') =>
    (await rawRequest(url, path + query, headers)).status;

  await t.test('in X-Service-Api-Key, in any case', async () => {
    assert.equal(await statusWith({ 'X-Service-Api-Key': key }), 200);
    assert.equal(await statusWith({ 'x-SERVICE-api-KEY': key }), 200);
  });

  await t.test('in X-Dune-Api-Key, which existing clients send', async () => {
    assert.equal(await statusWith({ 'X-Dune-Api-Key': key }), 200);
  });

  await t.test('in api_key alone, which spreadsheets send', async () => {
    assert.equal(await statusWith({}, `?api_key=${key}`), 200);
    assert.equal(await statusWith({}, `?limit=1&api_key=${key}`), 200);
  });

  await t.test('in Authorization, as a bearer token', async () => {
    assert.equal(await statusWith({ authorization: `Bearer ${key}` }), 200);
  });

  await t.test('nowhere: 401', async () => {
    assert.equal(await statusWith({}), 401);
    assert.equal(await statusWith({ authorization: `Basic ${key}` }), 401);
    assert.equal(await statusWith({ 'X-Service-Api-Key': '' }, '?api_key='), 401);
  });

  await t.test('the header wins over the parameter', async () => {
    assert.equal(await statusWith({ 'X-Service-Api-Key': key }, '?api_key=wrong'), 200);
    assert.equal(await statusWith({ 'X-Service-Api-Key': 'wrong' }, `?api_key=${key}`), 401);
    assert.equal(await statusWith({ 'X-Dune-Api-Key': 'wrong' }, `?api_key=${key}`), 401);
  });

  await t.test('the service’s own header wins over a compatible one', async () => {
    assert.equal(await statusWith({ 'X-Service-Api-Key': key, 'X-Dune-Api-Key': 'wrong' }), 200);
    assert.equal(await statusWith({ 'X-Service-Api-Key': 'wrong', 'X-Dune-Api-Key': key }), 401);
  });

  await t.test('an empty header counts as none', async () => {
    assert.equal(await statusWith({ 'X-Service-Api-Key': '' }, `?api_key=${key}`), 200);
  });

  await t.test('an unknown key, whatever it looks like: 401 with the exact text', async () => {
    for (const wrong of ['x', key.slice(0, -1), `${key}0`, key.toUpperCase(), 'k'.repeat(10_000)]) {
      const answer = await rawRequest(url, path, { 'X-Service-Api-Key': wrong });
      assert.deepEqual([answer.status, answer.body], [401, '{"error":"invalid API Key"}']);
      assert.equal(answer.headers['x-error-code'], 'invalid_api_key');
    }
  });

  await t.test('a revoked key is refused by the next request, also while the service runs', async () => {
    const second = await service.commandLine.get('keys', 'create', '--user', 'ann', '--name', 'second');
    assert.equal((await service.get(path, { key: second })).status, 200);
    const listed = JSON.parse(await service.commandLine.get('keys', 'list', '--json')) as {
      id: string;
      name: string;
    }[];
    await service.commandLine.get('keys', 'revoke', listed.find(({ name }) => name === 'second')?.id ?? '');
    assert.equal((await service.get(path, { key: second })).status, 401);
    assert.equal((await service.get(path)).status, 200);
  });

  await t.test('a key is never sent back: not in next_uri, headers or errors', async () => {
    const paths = [
      `/v1/query/7/results?limit=1&api_key=${key}`,
      `/v1/query/7/results/csv?limit=1&api_key=${key}&api_key=${key}`,
      `/v1/execution/${id}/results/csv?limit=1&api%5Fkey=${key}`,
      `/v1/query/7/results?limit=x&api_key=${key}`,
      `/v1/query/7/results?columns=m&api_key=${key}`,
      `/v1/query/8/results?api_key=${key}`,
      `/v1/nothing?api_key=${key}`,
      `/v1/query/7/results?api_key=${key}x`,
    ];
    for (const asked of paths) {
      const answer = await rawRequest(url, asked, {});
      assert(!JSON.stringify([answer.headers, answer.body]).includes(key), asked);
    }
    const page = await rawRequest(url, `/v1/query/7/results?limit=1&api_key=${key}`, {});
    assert.equal(JSON.parse(page.body).next_uri, `${url}/v1/execution/${id}/results?limit=1&offset=1`);
  });
});

test('more key headers are a setting', async (t) => {
  const service = await startHttpService(t, { QRS_KEY_HEADERS: 'X-Mine, X-Yours' });
  await service.publish(7, 'n\n1\n');
  const statusWith = async (name: string) =>
    (await rawRequest(service.url, '/v1/query/7/results', { [name]: service.key })).status;
  assert.deepEqual(
    [
      await statusWith('X-Mine'),
      await statusWith('X-Yours'),
      await statusWith('X-Service-Api-Key'),
      await statusWith('X-Dune-Api-Key'),
    ],
    [200, 200, 200, 401],
  );
});
