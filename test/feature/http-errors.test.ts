/** Contract §4: the exact bytes and headers of each error, and which of several errors is answered. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { NO_CATALOG_FILE } from '../postgres-server.ts';
import { rawRequest } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';

const UNKNOWN_ID = '01HR7PD8XYZ3M4N5P6Q7R8S9TA';

/** Checks status, code, type and bytes: compact JSON, nothing after it. */
async function assertError(
  service: HttpService,
  path: string,
  [status, code, body]: readonly [status: number, code: string, body: string],
  options: { readonly key?: string; readonly method?: string } = {},
): Promise<void> {
  const headers = { 'x-service-api-key': options.key ?? service.key };
  const answer = await rawRequest(service.url, path, headers, options.method);
  assert.deepEqual([answer.status, answer.headers['x-error-code'], answer.body], [status, code, body], path);
  assert.equal(answer.headers['content-type'], 'application/json');
  assert.equal(answer.headers['cache-control'], 'no-store');
  assert.equal(answer.headers['content-length'], String(Buffer.byteLength(body)));
  for (const name of ['link', 'etag', 'last-modified', 'x-service-next-uri', 'retry-after']) {
    assert.equal(answer.headers[name], undefined, name);
  }
}

test('each error, to the byte', async (t) => {
  const service = await startHttpService(t, { QRS_MAX_DATAPOINTS: '4' });
  const { id } = await service.publish(7, 'n,w\n1,x\n2,y\n3,z\n');
  await service.commandLine.get('queries', 'add', '--id', '8', '--user', 'ann');
  const pending = await service.commandLine.get('executions', 'submit', '--query', '8');
  await service.publish(9, 'n\n1\n2\n', { resultBytesMax: 8 });
  await service.commandLine.get('queries', 'add', '--id', '10', '--user', 'ann');
  const results = '/v1/query/7/results';

  await t.test('no key', () =>
    assertError(service, results, [401, 'invalid_api_key', '{"error":"invalid API Key"}'], { key: '' }),
  );

  await t.test('an unknown route', async () => {
    const code = 'route_not_found';
    await assertError(service, '/v1/nothing?x=1', [404, code, '{"error":"not found: GET /v1/nothing"}']);
    await assertError(service, '/v1/%22', [404, code, '{"error":"not found: GET /v1/%22"}']);
    for (const twice of ['/v1/v1/queries', '/v1/api/v1/queries', '/api/v1/v1/queries', '/api/v1/api/v1/queries']) {
      const said = `not found: GET ${twice}: /v1 is there twice; clients add it to the address that they are given`;
      await assertError(service, `${twice}?limit=1`, [404, code, `{"error":"${said}"}`]);
    }
    await assertError(service, '/v1/v10', [404, code, '{"error":"not found: GET /v1/v10"}']);
    await assertError(service, results, [404, code, '{"error":"not found: DELETE /v1/query/7/results"}'], {
      method: 'DELETE',
    });
    await assertError(service, results, [403, 'scope', '{"error":"this API key may only read"}'], { method: 'POST' });
  });

  await t.test('a malformed execution id', async () => {
    for (const [sent, shown] of [
      ['1', '1'],
      ['01HR7PD8XYZ3M4N5P6Q7R8S9T', '01HR7PD8XYZ3M4N5P6Q7R8S9T'],
      [`${UNKNOWN_ID}0`, `${UNKNOWN_ID}0`],
      [`8${UNKNOWN_ID.slice(1)}`, `8${UNKNOWN_ID.slice(1)}`],
      ['01HR7PD8XYZ3M4N5P6Q7R8S9TU', '01HR7PD8XYZ3M4N5P6Q7R8S9TU'],
      ['a%20b%22', 'a b\\"'],
      ['%C3%A9', 'é'],
      ['50%', '50%'],
      ['x'.repeat(5000), 'x'.repeat(5000)],
    ]) {
      const body = `{"error":"The requested execution ID (ID: ${shown}) is invalid."}`;
      for (const path of ['results', 'results/csv', 'status']) {
        await assertError(service, `/v1/execution/${sent}/${path}`, [400, 'invalid_execution_id', body]);
      }
    }
  });

  await t.test('an unknown execution', async () => {
    const body = `{"error":"The requested execution ID (ID ${UNKNOWN_ID}) was not found."}`;
    for (const path of ['results', 'results/csv', 'status']) {
      await assertError(service, `/v1/execution/${UNKNOWN_ID}/${path}`, [404, 'execution_not_found', body]);
    }
  });

  await t.test('an unknown query', async () => {
    const expected = [404, 'query_not_found', '{"error":"not found: Query not found or private"}'] as const;
    await assertError(service, '/v1/query/11/results', expected);
    await assertError(service, '/v1/query/11/results/csv', expected);
  });

  await t.test('a query that has never run', () =>
    assertError(service, '/v1/query/10/results', [
      404,
      'no_execution_found',
      '{"error":"not found: No execution found for the latest version of the given query"}',
    ]),
  );

  await t.test('a malformed query id', () =>
    assertError(service, '/v1/query/-1/results', [
      400,
      'invalid_query_id',
      '{"error":"The requested query ID (ID: -1) is invalid."}',
    ]),
  );

  await t.test('CSV of an execution without result', () =>
    assertError(service, `/v1/execution/${pending}/results/csv`, [
      409,
      'no_result',
      '{"error":"Query state is QUERY_STATE_PENDING, cannot provide CSV result","state":"QUERY_STATE_PENDING"}',
    ]),
  );

  await t.test('a bad parameter', () =>
    assertError(service, `${results}?limit=ten`, [
      400,
      'invalid_parameter',
      '{"error":"limit: found \\"ten\\", expected a whole number, at least 0"}',
    ]),
  );

  await t.test('an unknown column', () =>
    assertError(service, `${results}?columns=nn`, [
      400,
      'unknown_column',
      '{"error":"columns: there is no column \\"nn\\". Did you mean \\"n\\"?"}',
    ]),
  );

  await t.test('a CSV beyond the datapoint limit', () =>
    assertError(service, `${results}/csv`, [
      400,
      'datapoint_limit',
      '{"error":"the CSV would exceed the limit of 4 datapoints; add limit=2 and follow the paging headers, name fewer columns, or ignore_max_datapoints_per_request=true lifts the limit"}',
    ]),
  );

  await t.test(
    'the checks come in this order: key, route, identifier, existence, state, parameters, limits',
    async () => {
      const bad = 'limit=x&columns=nope&sample_count=0&queryID=1&execution_id=1';
      const status = async (path: string, key = service.key) => {
        const answer = await rawRequest(service.url, `${path}?${bad}`, { 'x-service-api-key': key });
        return [answer.status, answer.headers['x-error-code']];
      };
      assert.deepEqual(await status('/v1/nothing', 'wrong'), [401, 'invalid_api_key']);
      assert.deepEqual(await status('/v1/execution/x/nothing'), [404, 'route_not_found']);
      assert.deepEqual(await status('/v1/execution/x/results'), [400, 'invalid_execution_id']);
      assert.deepEqual(await status('/v1/query/x/results'), [400, 'invalid_query_id']);
      assert.deepEqual(await status(`/v1/execution/${UNKNOWN_ID}/results`), [404, 'execution_not_found']);
      assert.deepEqual(await status('/v1/query/11/results'), [404, 'query_not_found']);
      assert.deepEqual(await status('/v1/query/10/results'), [404, 'no_execution_found']);
      assert.deepEqual(await status(`/v1/execution/${pending}/results/csv`), [409, 'no_result']);
      assert.deepEqual(await status(`/v1/execution/${pending}/results`), [200, undefined]);
      assert.deepEqual(await status('/v1/query/9/results'), [400, 'partial_result']);
      assert.deepEqual(await status(`/v1/execution/${id}/results/csv`), [400, 'invalid_parameter']);
      const limits = await rawRequest(service.url, `${results}/csv?columns=nope`, { 'x-service-api-key': service.key });
      assert.equal(limits.headers['x-error-code'], 'unknown_column');
    },
  );
});

test('an internal error tells a request id and nothing else; the service goes on', {
  skip: NO_CATALOG_FILE,
}, async (t) => {
  const service = await startHttpService(t);
  const { id } = await service.publish(7, 'n\n1\n');
  await service.publish(8, 'n\n2\n');
  // What the service never writes: no fault that it expects.
  using catalog = new DatabaseSync(join(service.commandLine.dataDir, 'catalog.sqlite'));
  catalog.prepare("update result_sets set manifest = 'no JSON' where execution_id = ?").run(id);
  for (const path of ['/v1/query/7/results', '/v1/query/7/results/csv']) {
    const response = await service.get(path);
    assert.deepEqual([response.status, response.headers.get('x-error-code')], [500, 'internal']);
    const body = await response.text();
    assert.match(body, /^\{"error":"internal error, request id [0-9a-f]{24}"\}$/);
  }
  assert.equal(service.faults.length, 2);
  assert.equal((await service.get('/v1/query/8/results')).status, 200);
});

test('504: a read over its time limit tells the limit and how to ask for less', async (t) => {
  const service = await startHttpService(t, { QRS_READ_TIMEOUT: '1ms' });
  const lines = Array.from({ length: 200_000 }, (_, n) => `${n},${n},${n}`).join('\n');
  await service.publish(7, `a,b,c\n${lines}\n`);
  const response = await service.get('/v1/query/7/results?columns=a,b&limit=30000');
  assert.deepEqual(
    [response.status, response.headers.get('x-error-code'), await response.text()],
    [
      504,
      'read_timeout',
      '{"error":"the read exceeded its limit of 0.001 s; ask for fewer rows or columns, or a simpler filter"}',
    ],
  );
});
