/**
 * Contract §4: whatever the route, the method and the mistake, an answer that is no success has one shape. http-errors.test.ts has
 * their texts; here are the routes that are easily forgotten.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttpService } from './http-service.ts';
import { annWrites } from './http-writer.ts';

interface Wrong {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const JSON_BODY = { 'content-type': 'application/json' };
const UNKNOWN = '01HR7PD8XYZ3M4N5P6Q7R8S9TA';

const MISTAKES: readonly (readonly [status: number, code: string, sent: Wrong])[] = [
  [404, 'route_not_found', { path: '/explorer/nothing.js' }],
  [404, 'route_not_found', { path: '/docs/nothing' }],
  [404, 'route_not_found', { path: '/favicon.png' }],
  [404, 'route_not_found', { path: '//v1//query' }],
  [404, 'route_not_found', { path: '/api/v2/query/7/results' }],
  [404, 'route_not_found', { path: '/metrics', method: 'DELETE' }],
  [404, 'route_not_found', { path: '/v1/query/7/results', method: 'PUT', body: 'x' }],
  [404, 'query_not_found', { path: '/v1/query/8' }],
  [404, 'query_not_found', { path: '/v1/query/8/executions' }],
  [404, 'execution_not_found', { path: `/v1/execution/${UNKNOWN}/statistics` }],
  [404, 'execution_not_found', { path: `/v1/execution/${UNKNOWN}/diff/${UNKNOWN}` }],
  [400, 'invalid_execution_id', { path: '/v1/execution/x/statistics' }],
  [400, 'invalid_parameter', { path: '/v1/queries?limit=x' }],
  [400, 'invalid_parameter', { path: '/v1/query/7/executions?from=x' }],
  [400, 'invalid_parameter', { path: '/v1/query/7/results?as_of=x' }],
  [400, 'invalid_parameter', { path: '/v1/usage?from=x' }],
  [400, 'invalid_body', { path: '/v1/query', method: 'POST', headers: JSON_BODY, body: '{' }],
  [400, 'invalid_body', { path: '/v1/query', method: 'POST', headers: JSON_BODY, body: '{"nam":1}' }],
  [413, 'body_too_large', { path: '/v1/query', method: 'POST', headers: JSON_BODY, body: ' '.repeat(2_000_000) }],
  [
    415,
    'unsupported_media_type',
    { path: '/v1/query/7/results', method: 'POST', headers: { 'content-type': 'text/html' }, body: 'x' },
  ],
  [412, 'precondition_failed', { path: '/v1/query/7/results', headers: { 'if-match': '"another"' } }],
  [
    416,
    'range_not_satisfiable',
    { path: '/v1/query/7/results', headers: { range: 'bytes=99999-', 'accept-encoding': 'identity' } },
  ],
  [403, 'scope', { path: '/v1/users', method: 'POST', headers: JSON_BODY, body: '{"name":"eve"}' }],
];

test('every refusal is compact JSON with an error and a code, and is never kept', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'n\n1\n');
  const { key } = await annWrites(service);
  const seen: unknown[] = [];
  for (const [status, code, { method = 'GET', path, headers = {}, body }] of MISTAKES) {
    const answer = await fetch(service.url + path, {
      method,
      redirect: 'manual',
      headers: { 'x-service-api-key': key, ...headers },
      ...(body !== undefined && { body }),
    });
    const text = await answer.text();
    const told = `${method} ${path}: ${text.slice(0, 200)}`;
    seen.push([answer.status, answer.headers.get('x-error-code')]);
    assert.deepEqual(seen.at(-1), [status, code], told);
    assert.equal(answer.headers.get('content-type'), 'application/json', told);
    assert.equal(answer.headers.get('cache-control'), 'no-store', told);
    assert.equal(answer.headers.get('etag'), null, told);
    const { error, ...rest } = JSON.parse(text) as { error: string };
    assert.equal(JSON.stringify({ error, ...rest }), text, told);
    assert.match(error, /^\S.*\S$/, told);
  }
  assert.deepEqual(service.faults, []);
});

test('without a key, or with a wrong one, each of these routes under /v1 is 401 in the same bytes', async (t) => {
  const service = await startHttpService(t);
  for (const [, , { method = 'GET', path }] of MISTAKES.filter(([, , { path }]) => path.startsWith('/v1/'))) {
    for (const headers of [{}, { 'x-service-api-key': 'wrong' }]) {
      const answer = await fetch(service.url + path, { method, headers });
      assert.deepEqual([answer.status, await answer.text()], [401, '{"error":"invalid API Key"}'], `${method} ${path}`);
    }
  }
});
