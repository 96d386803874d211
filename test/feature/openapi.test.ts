/** The API's description against the API: the same addresses, and answers as described. */
import assert from 'node:assert/strict';
import diagnostics from 'node:diagnostics_channel';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { columnsOf } from '../../src/datasets/dataset.ts';
import * as declared from '../../src/datasets/declared.ts';
import { CompressedCache } from '../../src/http/compressed-cache.ts';
import { InFlightRequests } from '../../src/http/in-flight-requests.ts';
import { openApiDocument } from '../../src/http/openapi/document.ts';
import { Readiness } from '../../src/http/readiness.ts';
import { makeResponseCache } from '../../src/http/response-cache.ts';
import { createServer, type HttpDeps, type HttpOptions } from '../../src/http/server.ts';
import type { ResultsDeps } from '../../src/results/deps.ts';
import { startHttpService } from './http-service.ts';
import { type SendOptions, type Sent, sender } from './http-writer.ts';
import { responseValidator, seenResponse } from './openapi-validator.ts';

type Paths = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const DATASET = {
  name: 'points',
  title: 'Points of each wallet',
  path: '/v1/points/alpha/pts',
  schedule: '0 0 * * *',
  columns: columnsOf({ wallet: 'varchar', current_pts: 'double' }),
  meanings: { wallet: { about: 'Wallet holding the points', example: '0x01' } },
};

const OPTIONS: HttpOptions = {
  host: '127.0.0.1',
  port: 0,
  publicUrl: 'https://results.example.org',
  keyHeaders: ['X-Service-Api-Key', 'X-Dune-Api-Key'],
  headerPrefixes: ['X-Service', 'X-Dune'],
  compressed: new CompressedCache(1_000_000),
  responseCache: makeResponseCache(1_000_000),
  unsentBytesMax: 1_000_000,
  datasets: [{ path: '/points/alpha/pts', queryId: 990_000_001, nextRefresh: () => 0, lastRefresh: () => 0 }],
  connections: { connectionsMax: 10, headerBytesMax: 8192, headersMillis: 1000, idleMillis: 1000, stalledMillis: 1000 },
  writing: { results: { bytesMax: 1000, stalledMillis: 1000 }, jsonStalledMillis: 1000 },
  trustProxy: false,
  corsOrigins: [],
  publicKey: undefined,
  documentation: { version: '1.2.3', datasets: [DATASET] },
};

/** The server with one key and no query, and the list of its routes as `GET /v1/…`. */
function emptyServer(): { readonly server: FastifyInstance; readonly routes: readonly string[] } {
  const nothing = { execution: async () => undefined, query: async () => undefined, refresh: () => undefined };
  const deps: HttpDeps = {
    results: { catalogCache: nothing, clock: () => 0, monotonic: () => 0 } as unknown as ResultsDeps,
    health: {
      readiness: new Readiness({ checks: {}, monotonic: () => 0, sleep: async () => {}, onFailed: () => {} }),
      missingResults: () => 0,
    },
    authenticate: async () => ({ keyId: 'k', owner: { kind: 'user', name: 'ann' }, teams: [], scope: 'read' }),
    sleep: async () => {},
    onFault: ({ error }) => {
      throw error;
    },
    context: {
      inFlight: new InFlightRequests(),
      newRequestId: () => 'r1',
      observe: () => undefined,
      clock: () => 0,
      monotonic: () => 0,
      rateLimit: undefined,
    },
    metrics: { contentType: 'text/plain', text: async () => '' },
    writing: { catalog: {}, runsAnySql: true } as unknown as HttpDeps['writing'],
    browsing: { catalog: {}, clock: () => 0, engine: 'duckdb' } as unknown as HttpDeps['browsing'],
    usage: { usage: { add: async () => undefined, sum: async () => [] }, clock: () => 0 },
  };
  const routes: string[] = [];
  const listRoutes = (message: unknown) => {
    (message as { readonly fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method, url }) => {
      for (const one of [method].flat()) routes.push(`${one} ${url}`);
    });
  };
  diagnostics.subscribe('fastify.initialization', listRoutes);
  try {
    return { server: createServer(deps, OPTIONS), routes };
  } finally {
    diagnostics.unsubscribe('fastify.initialization', listRoutes);
  }
}

async function documentOf(server: FastifyInstance): Promise<{ readonly paths: Paths }> {
  return (await server.inject('/openapi.json')).json();
}

test('every operation of the document is answered by the service, under both prefixes', async (t) => {
  const { server } = emptyServer();
  t.after(() => server.close());
  const { paths } = await documentOf(server);
  for (const [template, item] of Object.entries(paths)) {
    const path = template.replace('{execution_id}', '01HR7PD8XYZ3M4N5P6Q7R8S9TA').replace('{query_id}', '7');
    for (const method of ['GET', 'HEAD'] as const) {
      if (item.get === undefined) continue;
      for (const url of path.startsWith('/v1/') ? [path, `/api${path}`] : [path]) {
        const { headers } = await server.inject({ method, url, headers: { 'x-service-api-key': 'a key' } });
        assert.notEqual(headers['x-error-code'], 'route_not_found', `${method} ${url}`);
      }
    }
  }
});

test('every route of the service is in the document', async (t) => {
  const { server, routes } = emptyServer();
  t.after(() => server.close());
  const { paths } = await documentOf(server);
  const named = (path: string) => path.replaceAll(/\{\w+\}/g, '{id}');
  const described = Object.entries(paths).flatMap(([path, item]) =>
    ['get', 'post', 'put', 'patch', 'delete']
      .filter((method) => item[method] !== undefined)
      // What answers GET answers HEAD: the introduction says it once.
      .flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]))
      .map((method) => `${method} ${named(path)}`),
  );
  const registered = routes
    // The parts of the page at /docs, and the pages of the explorer, are nothing to program against.
    .filter((route) => !/ \/(docs\/|explorer\/|queries\/|executions\/|usage$)/.test(route))
    .map((route) => route.replace(' /api/v1/', ' /v1/').replaceAll(/:\w+/g, '{id}'));
  assert.deepEqual([...new Set(registered)].toSorted(), described.toSorted());
});

test('answers are as described', async (t) => {
  const service = await startHttpService(t);
  const { id } = await service.publish(7, 'wallet,amount\n0xa,1.5\n0xb,2.5\n0xc,\n', { types: { amount: 'double' } });
  await service.commandLine.get('queries', 'add', '--id', '8', '--user', 'ann');
  const pending = await service.commandLine.get('executions', 'submit', '--query', '8');
  const cancelled = await service.commandLine.get('executions', 'submit', '--query', '8');
  await service.commandLine.get('executions', 'cancel', cancelled);
  const failed = await service.commandLine.get('executions', 'submit', '--query', '8');
  await service.commandLine.get('executions', 'fail', failed, '--message', 'no such table');
  const validate = responseValidator(await service.json('/openapi.json'));

  const paths: Readonly<Record<string, number>> = {
    [`/v1/execution/${id}/results`]: 200,
    [`/v1/execution/${id}/results?limit=1&offset=1`]: 200,
    [`/v1/execution/${id}/results?limit=0`]: 200,
    [`/v1/execution/${id}/results/csv?limit=1`]: 200,
    [`/v1/execution/${id}/results?filters=amount > 2`]: 200,
    [`/v1/execution/${id}/results?sample_count=2`]: 200,
    [`/v1/execution/${id}/status`]: 200,
    [`/v1/execution/${id}/statistics`]: 200,
    [`/v1/execution/${id}/statistics?columns=amuont`]: 400,
    [`/v1/execution/${failed}/statistics`]: 409,
    '/v1/query/7/results?sort_by=amount desc&limit=2': 200,
    '/v1/query/7/results/csv': 200,
    '/api/v1/query/7/results/': 200,
    '/v1/query/7/results?format=ndjson&limit=2': 200,
    '/v1/query/7/results?format=csv': 200,
    '/v1/query/7/results?format=parquet&limit=2': 200,
    '/v1/query/7/results?format=xml': 400,
    [`/v1/execution/${pending}/results?format=ndjson`]: 409,
    [`/v1/execution/${pending}/results`]: 200,
    [`/v1/execution/${pending}/status`]: 200,
    [`/v1/execution/${pending}/results/csv`]: 409,
    [`/v1/execution/${cancelled}/results`]: 200,
    [`/v1/execution/${cancelled}/status`]: 200,
    [`/v1/execution/${failed}/results`]: 200,
    [`/v1/execution/${failed}/results/csv`]: 409,
    '/v1/execution/latest/results': 400,
    '/v1/execution/01HR7PD8XYZ3M4N5P6Q7R8S9TA/results': 404,
    '/v1/query/seven/results': 400,
    '/v1/query/9/results': 404,
    '/v1/query/7/results?params.chain=base': 404,
    '/v1/query/7/results?limit=ten': 400,
    '/v1/query/7/results?columns=amuont': 400,
    '/v1/query/7/results?filters=amuont > 5': 400,
    '/v1/query/7/results/csv?sort_by=amount down': 400,
    '/v1/query/7/results?sample_count=1&limit=1': 400,
    [`/v1/execution/${id}/diff/${id}?key=amount`]: 200,
    [`/v1/execution/${id}/diff/${id}?key=amuont`]: 400,
    [`/v1/execution/${id}/diff/${pending}`]: 409,
    '/v1/query/7/diff?from=2100-01-01': 200,
    '/v1/query/7/diff?from=2001-01-01': 404,
    '/v1/query/7/diff': 400,
    '/v1/querys': 404,
    '/v1/query/7': 200,
    '/v1/query/9': 404,
    '/v1/query/seven': 400,
    '/v1/query/8/executions': 200,
    '/v1/query/8/executions?state=failed&limit=1': 200,
    '/v1/query/9/executions': 404,
    '/v1/query/7/executions?state=done': 400,
    '/v1/queries': 200,
    '/v1/queries?limit=1&search=7': 200,
    '/v1/queries?has_results=maybe': 400,
    '/v1/users': 403,
    '/v1/usage': 200,
    '/v1/usage?from=2024-03-05&to=2024-03-04': 400,
    '/healthz': 200,
    '/readyz': 200,
    '/metrics': 200,
    '/openapi.json': 200,
    '/docs': 200,
    '/': 200,
    '/llms.txt': 200,
  };
  for (const [path, status] of Object.entries(paths)) {
    for (const method of ['GET', 'HEAD']) {
      const response = await service.get(path, { method });
      if (method === 'GET') assert.equal(response.status, status, path);
      validate(await seenResponse(method, response));
    }
  }
  for (const method of ['POST', 'DELETE']) {
    validate(await seenResponse(method, await service.get('/v1/query/7/results', { method })));
  }
  validate(await seenResponse('GET', await service.get('/v1/query/7/results', { key: 'wrong' })));

  const first = await service.get(`/v1/execution/${id}/results`);
  const again = await service.get(`/v1/execution/${id}/results`, {
    headers: { 'if-none-match': first.headers.get('etag') ?? '' },
  });
  assert.equal(again.status, 304);
  validate(await seenResponse('GET', again));
  assert.deepEqual(service.faults, []);
});

test('a truncated result is refused as described, and returned to whoever allows it', async (t) => {
  const service = await startHttpService(t);
  const { id } = await service.publish(7, 'wallet\n0xa\n0xb\n0xc\n', { resultBytesMax: 6 });
  const validate = responseValidator(await service.json('/openapi.json'));
  for (const [path, status] of [
    [`/v1/execution/${id}/results`, 400],
    [`/v1/execution/${id}/results/csv`, 400],
    [`/v1/execution/${id}/results?allow_partial_results=true`, 200],
    [`/v1/execution/${id}/status`, 200],
  ] as const) {
    const response = await service.get(path);
    assert.equal(response.status, status, path);
    validate(await seenResponse('GET', response));
  }
});

test('answers to what changes something are as described', async (t) => {
  const service = await startHttpService(t);
  const validate = responseValidator(await service.json('/openapi.json'));
  const key = await service.commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'admin');
  const send = sender(service, key);
  const seen: Sent[] = [];
  const ask = async (method: string, path: string, status: number, options: SendOptions = {}) => {
    const sent = await send(method, path, options);
    assert.equal(sent.status, status, `${method} ${path}: ${sent.text}`);
    validate({ method, url: path, status, headers: sent.headers, body: sent.text });
    seen.push(sent);
    return sent.json;
  };
  const csv = { body: 'n\n1\n', headers: { 'content-type': 'text/csv' } };
  await ask('POST', '/v1/query', 201, { body: { name: 'a', query_id: 7 }, headers: { 'idempotency-key': 'k' } });
  await ask('POST', '/v1/query', 201, { body: { name: 'a', query_id: 7 }, headers: { 'idempotency-key': 'k' } });
  await ask('POST', '/v1/query', 422, { headers: { 'idempotency-key': 'k' } });
  await ask('POST', '/v1/query', 409, { body: { query_id: 7 } });
  await ask('POST', '/v1/query', 400, { body: { nam: 'a' } });
  await ask('PATCH', '/v1/query/7', 200, { body: { tags: ['x'], query_sql: 'select 1 as n', schedule: '0 * * * *' } });
  await ask('PATCH', '/v1/query/8', 404, { body: {} });
  await ask('GET', '/v1/query/7', 200);
  for (const step of ['archive', 'unarchive', 'private', 'unprivate']) await ask('POST', `/v1/query/7/${step}`, 200);
  await ask('POST', '/v1/query/7/results', 201, csv);
  await ask('POST', '/v1/query/7/results', 400, { ...csv, body: 'a,b\n1\n' });
  await ask('POST', '/v1/query/7/results', 415, { ...csv, headers: { 'content-type': 'text/html' } });
  const { execution_id: id } = await ask('POST', '/v1/query/7/executions', 201);
  await ask('POST', `/v1/execution/${id}/start`, 200);
  await ask('POST', `/v1/execution/${id}/start`, 409);
  await ask('PUT', `/v1/execution/${id}/results`, 201, csv);
  const failing = await ask('POST', '/v1/query/7/executions', 201, { body: { query_parameters: { a: 'b' } } });
  await ask('POST', `/v1/execution/${failing.execution_id}/fail`, 200, {
    body: { message: 'no', metadata: { line: 1 } },
  });
  const cancelling = await ask('POST', '/v1/query/7/executions', 201);
  await ask('POST', `/v1/execution/${cancelling.execution_id}/cancel`, 200);
  await ask('POST', '/v1/users', 201, { body: { name: 'bob' } });
  await ask('POST', '/v1/teams', 201, { body: { name: 'crew' } });
  await ask('PUT', '/v1/teams/crew/members/bob', 200);
  const made = await ask('POST', '/v1/keys', 201, { body: { team: 'crew', scope: 'write', expires_in: 60 } });
  for (const list of ['users', 'teams?limit=1', 'keys']) await ask('GET', `/v1/${list}`, 200);
  await ask('DELETE', `/v1/keys/${made.id}`, 200);
  await ask('DELETE', '/v1/teams/crew/members/bob', 200);
  await ask('DELETE', '/v1/users/bob', 200);
  await ask('POST', '/v1/users', 403, { key: service.key });
  await ask('POST', '/v1/users', 401, { key: 'wrong' });
  assert.deepEqual(service.faults, []);
});

test('an answer that is not as described is told', () => {
  const validate = responseValidator(openApiDocument({ ...OPTIONS, ...OPTIONS.documentation, serverUrl: undefined }));
  const seen = {
    method: 'GET',
    url: '/healthz',
    status: 200,
    headers: [
      ['content-type', 'application/json'],
      ['cache-control', 'no-store'],
    ] as const,
  };
  validate({ ...seen, body: '{"status":"ok"}' });
  assert.throws(() => validate({ ...seen, body: '{"status":"fine"}' }), /body\/status: must be equal to constant/);
  assert.throws(() => validate({ ...seen, status: 418, body: '' }), /status 418: not described/);
  assert.throws(
    () => validate({ ...seen, headers: [...seen.headers, ['x-secret', '1']], body: '{"status":"ok"}' }),
    /header x-secret: not described/,
  );
  assert.throws(
    () => validate({ ...seen, url: '/v1/points/alpha/pts', status: 401, body: '{"error":"invalid API Key"}' }),
    /header X-Error-Code: missing/,
  );
});

test('docs/reference/api.md lists the same addresses, and its JSON is an answer as described', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/reference/api.md'), 'utf8');
  const datasets = Object.values(declared).map((declare) => declare({ strategyColumnNames: 'number' }));
  const document = openApiDocument({ ...OPTIONS, version: '1.2.3', datasets, serverUrl: undefined });
  const listed = page
    .split('\n')
    .filter((line) => line.startsWith('| `/'))
    .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ''));
  assert.deepEqual(listed.toSorted(), Object.keys(document.paths as Paths).toSorted());
  const body = /```json\n(.*?)```/s.exec(page)?.[1] ?? '';
  const headers = [
    ['content-type', 'application/json'],
    ['cache-control', 'private, no-cache'],
  ] as const;
  responseValidator(document)({ method: 'GET', url: '/v1/query/1215383/results', status: 200, headers, body });
});

test('the page at /docs and its scripts come from the service and need no key', async (t) => {
  const { server } = emptyServer();
  t.after(() => server.close());
  const page = await server.inject('/docs');
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8');
  const policy = String(page.headers['content-security-policy']);
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /https?:|\*/);
  const scripts = [...page.body.matchAll(/<script src="([^"]+)">/g)].map((match) => match[1] ?? '');
  assert.deepEqual(scripts, ['/docs/scalar.js', '/docs/start.js']);
  assert.doesNotMatch(page.body, /https?:\/\//);
  const [scalar, start] = await Promise.all(scripts.map((url) => server.inject(url)));
  assert.match(scalar?.body ?? '', /createApiReference/);
  assert.match(start?.body ?? '', /"withDefaultFonts":false,"telemetry":false/);
  assert.match(start?.body ?? '', /const example = null;/);
  const compressed = await server.inject({ url: '/docs/scalar.js', headers: { 'accept-encoding': 'br' } });
  assert.equal(compressed.headers['content-encoding'], 'br');
  assert.ok(compressed.rawPayload.byteLength < 2_000_000);
});
