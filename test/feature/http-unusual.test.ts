/** Requests that no ordinary client sends. Each is answered in the shape of all errors, its key checked first (contract §4). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { METHODS } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { type HttpService, startHttpService } from './http-service.ts';
import { publishLongResult } from './long-result.ts';

async function open({ url }: HttpService): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
}

/** Everything that comes back for these lines, on a connection of their own. */
async function exchange(service: HttpService, ...lines: readonly string[]): Promise<string> {
  const socket = await open(service);
  socket.write(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`);
  return await text(socket);
}

function seen(answer: string) {
  const [head = '', body = ''] = answer.split('\r\n\r\n', 2);
  const [status = '', ...fields] = head.split('\r\n');
  const headers = new Map(
    fields.map((field) => [field.split(':', 1)[0]?.toLowerCase(), field.replace(/^[^:]*: /, '')]),
  );
  return { status: Number(status.split(' ')[1]), headers, body };
}

function assertError(answer: string, status: number, code: string, message?: string): void {
  const { status: found, headers, body } = seen(answer);
  assert.deepEqual([found, headers.get('x-error-code')], [status, code], answer.slice(0, 900));
  assert.equal(headers.get('content-type'), 'application/json');
  assert.equal(headers.get('cache-control'), 'no-store');
  const { error, ...more } = JSON.parse(body);
  assert.deepEqual(more, {});
  if (message !== undefined) assert.equal(error, message);
}

test('an id of any length is answered like any malformed id, after the key', async (t) => {
  const service = await startHttpService(t);
  const id = 'x'.repeat(20_000);
  const line = `GET /v1/execution/${id}/results HTTP/1.1`;
  assertError(await exchange(service, line, 'Host: x'), 401, 'invalid_api_key', 'invalid API Key');
  const key = `X-Service-Api-Key: ${service.key}`;
  const message = `The requested execution ID (ID: ${id}) is invalid.`;
  assertError(await exchange(service, line, 'Host: x', key), 400, 'invalid_execution_id', message);
});

test('an address that is not encoded, as people type it behind curl, and a request that is cut short are told as that', async (t) => {
  const service = await startHttpService(t);
  const unencoded =
    'the address has a character that must be encoded: beyond ASCII it is written %XX, as curl does with -G --data-urlencode';
  const blank =
    'the address is not followed by HTTP/1.1: a blank in it is written + or %20, as curl does with -G --data-urlencode';
  for (const [path, message] of [
    ['/v1/query/7/results?search=Zürich', unencoded],
    ['/v1/query/ü', unencoded],
    ['/v1/query/7/results?filters=city\t=1', unencoded],
    ["/v1/query/7/results?filters=city = 'x'", blank],
  ] as const) {
    assertError(await exchange(service, `GET ${path} HTTP/1.1`, 'Host: x'), 400, 'bad_request', message);
  }
  const cut = await open(service);
  const key = await service.commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'write');
  const head = `POST /v1/query HTTP/1.1\r\nHost: x\r\nX-Service-Api-Key: ${key}\r\nContent-Length: 30`;
  cut.end(`${head}\r\n\r\n{"name"`);
  assertError(await text(cut), 400, 'bad_request', 'the connection was closed before the request was whole');
});

test('no Host, two of them, a body in a transfer coding, a wrong Expect: 400 and 417, after the key', async (t) => {
  const service = await startHttpService(t);
  const key = `X-Service-Api-Key: ${service.key}`;
  const line = 'GET /v1/query/7/results HTTP/1.1';
  for (const [code, status, fields] of [
    ['bad_request', 400, ['X-A: b']],
    ['bad_request', 400, ['Host: x', 'host: y']],
    ['bad_request', 400, ['Host: x', 'Transfer-Encoding: gzip, chunked']],
    ['bad_request', 400, ['Host: x', 'Transfer-Encoding: gzip', 'Transfer-Encoding: chunked']],
    ['expectation_failed', 417, ['Host: x', 'Expect: 200-ok']],
  ] as const) {
    assertError(await exchange(service, line, ...fields), 401, 'invalid_api_key');
    assertError(await exchange(service, line, key, ...fields), status, code);
    assertError(await exchange(service, 'GET /healthz HTTP/1.1', ...fields), status, code);
  }
  assert.equal(seen(await exchange(service, 'GET /healthz HTTP/1.0', 'X-A: b')).status, 200);
  assert.match(await exchange(service, 'GET /healthz HTTP/1.1', 'Host: x', 'Expect: 100-continue'), / 200 OK\r\n/);
});

test('a request that names the whole address, as proxies send it, is answered as if it named the path', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'n\n1\n2\n');
  await service.publish(7, 'n\n1\n2\n');
  const key = `X-Service-Api-Key: ${service.key}`;
  const { host } = new URL(service.url);
  const ask = async (target: string, ...fields: readonly string[]) => {
    const { status, body } = seen(await exchange(service, `GET ${target} HTTP/1.1`, `Host: ${host}`, ...fields));
    return { status, body };
  };
  for (const path of ['/healthz', '/llms.txt', '/?a=b', '/explorer/none.js']) {
    assert.deepEqual(await ask(`http://${host}${path}`), await ask(path));
  }
  assert.deepEqual(await ask(`HTTPS://${host}`), await ask('/'));
  assert.equal((await ask(`http://${host}/v1/query/7/results`)).status, 401);
  for (const path of ['/v1/queries?limit=1', '/v1/query/7/executions?limit=1', '/v1/query/7/results?limit=1']) {
    const answer = await ask(`http://${host}${path}`, key);
    assert.deepEqual(answer, await ask(path, key));
    if (path.includes('/7/')) assert.ok(JSON.parse(answer.body).next_uri.startsWith(`http://${host}/v1/`), answer.body);
  }
});

test('every method of HTTP, and one that does not exist', async (t) => {
  const service = await startHttpService(t);
  for (const method of METHODS.filter((name) => !['GET', 'HEAD', 'CONNECT'].includes(name))) {
    const ask = (...more: readonly string[]) =>
      exchange(service, `${method} /v1/query/7/results HTTP/1.1`, 'Host: x', ...more);
    assertError(await ask(), 401, 'invalid_api_key');
    const message = `not found: ${method} /v1/query/7/results`;
    const key = `X-Service-Api-Key: ${service.key}`;
    for (const more of [[], ['Content-Type: ;;', 'Content-Length: 0'], ['Content-Type: text/x', 'Content-Length: 0']]) {
      // A key that may write would publish a result with this request.
      if (method === 'POST') continue;
      assertError(await ask(key, ...more), 404, 'route_not_found', message);
    }
  }
  const post = ['POST /v1/query/7/results HTTP/1.1', 'Host: x', `X-Service-Api-Key: ${service.key}`] as const;
  assertError(await exchange(service, ...post), 403, 'scope', 'this API key may only read');
  assertError(await exchange(service, 'CONNECT example.com:80 HTTP/1.1', 'Host: x'), 401, 'invalid_api_key');
  assertError(await exchange(service, 'FETCH /v1/query/7/results HTTP/1.1', 'Host: x'), 400, 'bad_request');
});

test('bytes after a request that are not HTTP abort the answer in flight; no error is written into it', async (t) => {
  const service = await startHttpService(t);
  await publishLongResult(service, 7);
  const path = '/v1/query/7/results/csv?ignore_max_datapoints_per_request=true';
  const socket = await open(service);
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Service-Api-Key: ${service.key}\r\n\r\n`);
  await once(socket, 'readable');
  socket.write('NONSENSE\r\n\r\n');
  let answer = '';
  try {
    for await (const piece of socket) answer += piece;
  } catch {
    // Cut.
  }
  assert(answer.startsWith('HTTP/1.1 200 '));
  assert(!answer.includes('bad_request') && !answer.includes('HTTP/1.1 400'), 'a refusal within the answer');
  assert(!answer.endsWith('\r\n0\r\n\r\n'), 'it must not look whole');
});

test('a client that has closed its sending half still gets its answer: whole, large, slow, in any version of HTTP', async (t) => {
  const service = await startHttpService(t, { QRS_DIRECT_ROWS: '0' });
  await publishLongResult(service, 7);
  const ask = async (path: string, version: string) => {
    const socket = await open(service);
    socket.end(`GET ${path} HTTP/${version}\r\nHost: x\r\nX-Service-Api-Key: ${service.key}\r\n\r\n`);
    return (await text(socket)).replaceAll('HTTP/1.1 100 Continue\r\n\r\n', '');
  };
  for (const version of ['1.1', '1.0']) {
    assert.equal(seen(await ask('/v1/query/7/results?limit=5', version)).status, 200);
    const sorted = await ask('/v1/query/7/results?sort_by=n+desc&limit=3&offset=9', version);
    assert.match(sorted.slice(0, 3000), /"rows":\[\{"n":196598,/);
    const whole = await ask('/v1/query/7/results/csv?ignore_max_datapoints_per_request=true', version);
    assert(whole.endsWith(version === '1.0' ? `\n196607,${'x'.repeat(100)}\n` : '\r\n0\r\n\r\n'), 'the end is missing');
    assert(whole.length > 20_000_000);
  }
  assert.deepEqual(service.faults, []);
});

test('a client that is gone altogether ends its read, even if it looks like one that closed its sending half', async (t) => {
  const service = await startHttpService(t, { QRS_DIRECT_ROWS: '0' });
  await publishLongResult(service, 7);
  // The read waits until it is told to stop: an answer would come only after the client has gone.
  const { promise: never, resolve } = Promise.withResolvers<void>();
  const catalog = await service.catalog();
  t.mock.method(catalog.executions, 'findLatest', async () => {
    await never;
  });
  const socket = await open(service);
  socket.write(`GET /v1/query/7/results HTTP/1.1\r\nHost: x\r\nX-Service-Api-Key: ${service.key}\r\n\r\n`, () =>
    socket.destroy(),
  );
  const gone = () => service.observed.find((one) => one.kind === 'answered' && one.status === 499);
  while (gone() === undefined) await new Promise((next) => setImmediate(next));
  resolve();
});
