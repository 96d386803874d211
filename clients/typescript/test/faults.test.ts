/** The client when services and networks are as bad as they get: what is asked again, and what must not pass for an answer. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { IncompleteResult, QueryResults } from '../src/index.ts';
import { addressOf, type Filter, pathOf, type Target } from '../src/target.ts';

type Answer = object | { readonly status: number; readonly headers?: Record<string, string> } | Error;

/** A client whose requests are answered with these, one after the other; then it fails the test. */
function scripted(answers: readonly Answer[], retries = 5) {
  const left = [...answers];
  const asked: { readonly url: string; readonly init: RequestInit }[] = [];
  const pauses: number[] = [];
  const answer = async (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    asked.push({ url: String(url), init });
    const next = left.shift() ?? assert.fail('asked once more than there are answers');
    if (next instanceof Error) throw next;
    if ('status' in next) {
      const { status, headers } = next as { readonly status: number; readonly headers?: Record<string, string> };
      return new Response(`{"error":"status ${status}"}`, { status, headers: headers ?? {} });
    }
    return new Response(JSON.stringify(next));
  };
  const sleep = async (millis: number) => {
    pauses.push(millis);
  };
  const client = new QueryResults({ url: 'https://results.example.com', key: 'k', retries, fetch: answer, sleep });
  return { client, asked, pauses, left };
}

/** Answers every request alike. */
function recorded(answer: object) {
  const asked: { readonly url: string; readonly init: RequestInit }[] = [];
  const fetch = async (url: string | URL | Request, init: RequestInit = {}) => {
    asked.push({ url: String(url), init });
    return new Response(JSON.stringify(answer));
  };
  return { asked, fetch };
}

const NEXT = 'https://results.example.com/v1/execution/A/results?offset=2';

function page(rows: readonly number[], total: number, more: object = {}, metadata: object = {}) {
  return {
    execution_id: 'A',
    state: 'QUERY_STATE_COMPLETED',
    result: {
      rows: rows.map((n) => ({ n })),
      metadata: {
        column_names: ['n'],
        column_types: ['integer'],
        row_count: rows.length,
        total_row_count: total,
        ...metadata,
      },
    },
    ...more,
  };
}

test('a walk whose rows are not those that were promised is an error, never a short answer', async () => {
  const next = { next_uri: NEXT, next_offset: 2 };
  const wrong: Readonly<Record<string, readonly [object, ...object[]]>> = {
    'ends too early': [page([1, 2], 3)],
    'ends too early, after a page': [page([1, 2], 4, next), page([3], 4)],
    'has more than there are': [page([1, 2, 3], 2)],
    'has a page after the last': [page([1, 2], 2, next)],
    'leaves a gap': [page([1, 2], 9, { next_uri: NEXT, next_offset: 3 })],
    'repeats rows': [page([1, 2], 9, { next_uri: NEXT, next_offset: 1 })],
    'has an empty page in the middle': [page([], 9, { next_uri: NEXT, next_offset: 0 })],
    'has fewer rows than it says': [page([1, 2], 2, {}, { row_count: 3 })],
    'goes on with another run': [page([1, 2], 3, next), { ...page([3], 3), execution_id: 'B' }],
    'is no answer of this service': [{ hello: 'world' }],
  };
  for (const [what, answers] of Object.entries(wrong)) {
    const { client } = scripted(answers);
    await assert.rejects(client.read({ query: 7 }), (error) => {
      assert.ok(error instanceof IncompleteResult, `${what}: ${error}`);
      return true;
    });
  }
  const { client } = scripted([page([5], 90, {}, { filtered_row_count: 2 })]);
  await assert.rejects(client.read({ query: 7, filters: 'n = 5' }), {
    message: '1 rows have come of A, of 2 that the service said there are',
  });
});

test('a result that is not as the service gives one is told as that, and no value of it is taken', async () => {
  const { result: good } = page([1], 1);
  const { metadata } = good;
  const wrong: Readonly<Record<string, unknown>> = {
    nothing: null,
    'a text': 'no luck',
    'a list': [],
    'no metadata': { rows: [] },
    'no rows': { metadata },
    'rows that are none': { metadata, rows: [1] },
    'no names': { ...good, metadata: { ...metadata, column_names: undefined } },
    'names that are none': { ...good, metadata: { ...metadata, column_names: [7] } },
    'types of other columns': { ...good, metadata: { ...metadata, column_types: [] } },
    'no number of rows': { ...good, metadata: { ...metadata, row_count: undefined } },
    'no number of all rows': { ...good, metadata: { ...metadata, total_row_count: undefined } },
    'a text for a number': { ...good, metadata: { ...metadata, total_row_count: '1' } },
  };
  const message = 'the result of A is not as this service gives one: check the address';
  for (const [what, result] of Object.entries(wrong)) {
    const { client } = scripted([page([1], 1, { result })]);
    await assert.rejects(client.read({ query: 7 }), { name: 'IncompleteResult', message }, what);
  }
  const values: readonly (readonly [string, object])[] = [
    ['bigint', { n: 'seven' }],
    ['bigint', {}],
    ['double', {}],
    ['varchar', {}],
    ['array(bigint)', { n: '1' }],
  ];
  for (const [type, row] of values) {
    const { client } = scripted([
      page([1], 1, { result: { rows: [row], metadata: { ...metadata, column_types: [type] } } }),
    ]);
    const told = { name: 'IncompleteResult', message: `a row of A has no ${type} in "n"` };
    await assert.rejects(client.read({ query: 7 }), told, `${type} ${JSON.stringify(row)}`);
  }
  const { client } = scripted([page([1, 2], 3, { next_uri: 7, next_offset: 2 })]);
  await assert.rejects(client.read({ query: 7 }), {
    name: 'IncompleteResult',
    message: /^2 rows have come of A, of 3/,
  });
});

test('a walk whose rows are those that were promised passes', async () => {
  const next = { next_uri: NEXT, next_offset: 2 };
  const limited = scripted([page([1, 2], 9, next), page([3, 4], 9, { next_uri: NEXT, next_offset: 4 })]);
  const three = await limited.client.read({ query: 7, limit: 3 });
  assert.deepEqual([three.rows, three.rowCount], [[{ n: 1 }, { n: 2 }, { n: 3 }], 3]);
  const { client, asked } = scripted([
    page([1, 2], 3, next),
    page([3], 3),
    page([4], 99, {}, { filtered_row_count: 1 }),
  ]);
  assert.deepEqual((await client.read({ query: 7 })).rows, [{ n: 1 }, { n: 2 }, { n: 3 }]);
  assert.deepEqual((await client.read({ query: 7, filters: 'n = 4' })).rows, [{ n: 4 }]);
  const filtered =
    'https://results.example.com/v1/query/7/results?filters=n+%3D+4&format=json&bigints=string&count=exact';
  assert.deepEqual(
    asked.map(({ url }) => url),
    ['https://results.example.com/v1/query/7/results?format=json&bigints=string', NEXT, filtered],
  );
  for (const { init } of asked) assert.equal(new Headers(init.headers).get('x-service-api-key'), 'k');
});

test('429, 502, 503, 504 and broken connections are asked again, after growing pauses or as Retry-After says', async () => {
  const after = (status: number, seconds: string) => ({ status, headers: { 'retry-after': seconds } });
  const { client, pauses } = scripted([
    { status: 502 },
    after(429, '7'),
    new TypeError('fetch failed'),
    after(503, '0'),
    { status: 504 },
    page([1], 1),
  ]);
  assert.deepEqual((await client.read({ query: 7 })).rows, [{ n: 1 }]);
  assert.deepEqual(pauses, [500, 7000, 2000, 0, 8000]);
});

test('a body that breaks off is asked for again', async () => {
  const broken = new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"execution_id":'));
        controller.error(new Error('other side closed'));
      },
    }),
  );
  let calls = 0;
  const fetch = async () => {
    calls += 1;
    return calls === 1 ? broken : new Response(JSON.stringify(page([1], 1)));
  };
  const client = new QueryResults({ url: 'https://x.example', key: 'k', fetch, sleep: async () => undefined });
  assert.deepEqual((await client.read({ query: 7 })).rows, [{ n: 1 }]);
});

test('JSON that a proxy ended early as if it were whole is asked for again, and told as that', async () => {
  const whole = JSON.stringify(page([1], 1));
  const bodies = [whole.slice(0, 60), whole, whole.slice(0, 60)];
  const fetch = async () => new Response(bodies.shift() ?? assert.fail('asked once more than there are answers'));
  const settings = { url: 'https://x.example', key: 'k', fetch, sleep: async () => undefined };
  assert.deepEqual((await new QueryResults(settings).read({ query: 7 })).rows, [{ n: 1 }]);
  await assert.rejects(new QueryResults({ ...settings, retries: 0 }).read({ query: 7 }), {
    name: 'ServiceError',
    message: /^\/v1\/query\/7\/results: no whole answer came: .*JSON/,
  });
});

test('an answer about a run without what each of them has is told, and not waited on', async () => {
  const told = { name: 'ServiceError', message: 'the answer is not one of this service: check the address' };
  for (const answer of [{}, { execution_id: 7, state: 'QUERY_STATE_PENDING' }, { execution_id: 'A' }]) {
    const { client } = scripted([answer]);
    await assert.rejects(client.finished('A'), told);
  }
  await assert.rejects(scripted([{ ok: true }]).client.execute(7), told);
  const waits = { execution_id: 'A', state: 'QUERY_STATE_EXECUTING' };
  for (const more of [{ progress: null }, { progress: 50 }, { error: 'no luck' }]) {
    await assert.rejects(scripted([{ ...waits, ...more }]).client.status('A'), told);
  }
});

test('what cannot pass is not asked again, and what does not pass within the limit is told', async () => {
  for (const status of [400, 401, 403, 404, 409, 500]) {
    const { client } = scripted([{ status }]);
    await assert.rejects(client.read({ query: 7 }), { name: 'ServiceError', status, message: `status ${status}` });
  }
  const busy = scripted([{ status: 503 }, { status: 503 }], 1);
  await assert.rejects(busy.client.read({ query: 7 }), { status: 503 });
  const long = scripted([{ status: 503, headers: { 'retry-after': '3600' } }]);
  await assert.rejects(long.client.read({ query: 7 }), { status: 503 });
  const gone = scripted([new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })], 0);
  await assert.rejects(gone.client.read({ query: 7 }), {
    name: 'ServiceError',
    status: undefined,
    message: '/v1/query/7/results: no whole answer came: connect ECONNREFUSED',
  });
});

test('an answer that is not of the service is told as that, also as a file, and is asked for once', async () => {
  const html = () => new Response('<html>Log in</html>', { headers: { 'content-type': 'text/html' } });
  const answers: Readonly<Record<string, () => Response>> = {
    'a page': html,
    nothing: () => new Response(null, { status: 204 }),
    null: () => new Response('null', { headers: { 'content-type': 'application/json' } }),
    'a list': () => new Response('[]', { headers: { 'content-type': 'application/json' } }),
  };
  for (const [what, answer] of Object.entries(answers)) {
    let calls = 0;
    const fetch = async () => {
      calls += 1;
      return answer();
    };
    const client = new QueryResults({ url: 'https://x.example', key: 'k', fetch, sleep: async () => undefined });
    const told = (type: string) => ({
      name: 'ServiceError',
      message: `/v1/query/7/results: the answer is ${type}: is this the address of a service?`,
    });
    await assert.rejects(client.read({ query: 7 }), told('no JSON'), what);
    await assert.rejects(client.csv({ query: 7 }), told('not text/csv'), what);
    await assert.rejects(client.parquet({ query: 7 }), told('not application/vnd.apache.parquet'), what);
    assert.equal(calls, 3, what);
  }
});

test('a redirect is not followed: the key is for nobody else', async (t) => {
  const keys: (string | undefined)[] = [];
  const server = createServer(({ headers }, response) => {
    keys.push(headers['x-service-api-key']?.toString());
    response.writeHead(307, { location: '/elsewhere?token=x' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new QueryResults({ url, key: 'k' });
  const words = 'redirected to /elsewhere, which is not followed: url is where the service itself answers';
  const refusal = { name: 'ServiceError', status: 307 };
  await assert.rejects(client.read({ query: 7 }), { ...refusal, message: `/v1/query/7/results: ${words}` });
  await assert.rejects(client.execute(7), { ...refusal, message: `/v1/query/7/execute: ${words}` });
  assert.deepEqual(keys, ['k', 'k']);
});

test('a refusal whose words break off is the refusal, and a Retry-After that is none is not a pause of nothing', async () => {
  const broken = (status: number, retryAfter?: string) => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('other side closed')) });
    return new Response(body, { status, headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter } });
  };
  const left = [broken(503, '1.5'), broken(503, '-5'), broken(429, 'soon'), broken(503, '3'), broken(400)];
  const pauses: number[] = [];
  const client = new QueryResults({
    url: 'https://x.example',
    key: 'k',
    fetch: async () => left.shift() ?? assert.fail('asked once more than there are answers'),
    sleep: async (millis) => {
      pauses.push(millis);
    },
  });
  await assert.rejects(client.read({ query: 7 }), { status: 400, message: 'the service answered 400' });
  assert.deepEqual(pauses, [500, 1000, 2000, 3000]);
});

test('blanks behind the seconds of Retry-After, which fetch leaves there, are none of them', async (t) => {
  const refusal = 'HTTP/1.1 503 Busy\r\nRetry-After: 7 \t \r\nContent-Length: 0\r\nConnection: close\r\n\r\n';
  const server = createServer((_, { socket }) => socket?.end(refusal));
  server.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const pauses: number[] = [];
  const sleep = async (millis: number) => {
    pauses.push(millis);
  };
  const { port } = server.address() as AddressInfo;
  const client = new QueryResults({ url: `http://127.0.0.1:${port}`, key: 'k', retries: 1, sleep });
  await assert.rejects(client.read({ query: 7 }), { status: 503 });
  assert.deepEqual(pauses, [7000]);
});

test('a signal that ends the words of a refusal is what is told', async () => {
  const stopping = new AbortController();
  const reason = new Error('it is enough');
  const body = new ReadableStream({
    pull: (controller) => {
      stopping.abort(reason);
      controller.error(reason);
    },
  });
  const fetch = async () => new Response(body, { status: 503 });
  const client = new QueryResults({ url: 'https://x.example', key: 'k', fetch, retries: 0 });
  await assert.rejects(client.read({ query: 7, signal: stopping.signal }), (error) => error === reason);
});

test('a redirect of which a browser says nothing is told as one', async () => {
  const response = Object.defineProperties(new Response(), {
    type: { value: 'opaqueredirect' },
    status: { value: 0 },
    ok: { value: false },
  });
  const client = new QueryResults({ url: 'https://x.example', key: 'k', fetch: async () => response });
  await assert.rejects(client.read({ query: 7 }), {
    name: 'ServiceError',
    status: undefined,
    message: '/v1/query/7/results: redirected, which is not followed: url is where the service itself answers',
  });
});

test('a run is asked for once: what is sent again has the same Idempotency-Key, another run another', async () => {
  const { client, asked } = scripted([
    { status: 503 },
    new TypeError('reset'),
    { execution_id: 'A' },
    { execution_id: 'B' },
  ]);
  assert.deepEqual([await client.execute(7), await client.execute(7)], ['A', 'B']);
  const keys = asked.map(({ init }) => new Headers(init.headers).get('idempotency-key'));
  assert.match(keys[0] ?? '', /^"[0-9a-f]{32}"$/);
  assert.deepEqual([keys[1], keys[2]], [keys[0], keys[0]]);
  assert.notEqual(keys[3], keys[0]);
});

test('the key is not shown without TLS to where a page leads, however the address is written', async () => {
  for (const [url, next_uri] of [
    ['https://results.example.com', 'http://results.example.com/x'],
    ['HTTPS://results.example.com', 'http://results.example.com/x'],
    ['https://results.example.com', 'HTTP://results.example.com/x'],
  ] as const) {
    const { asked, fetch } = recorded(page([1, 2], 3, { next_uri, next_offset: 2 }));
    const client = new QueryResults({ url, key: 'k', fetch });
    await assert.rejects(client.read({ query: 7 }), { name: 'ServiceError', message: /without TLS/ }, url);
    assert.equal(asked.length, 1);
  }
});

test('a redirect with a body that does not end keeps no connection', async (t) => {
  const server = createServer((_request, response) => {
    response.writeHead(307, { location: '/elsewhere' });
    response.write('x'.repeat(1_000_000));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const closed = new Promise<void>((resolve) => server.once('connection', (socket) => socket.once('close', resolve)));
  const client = new QueryResults({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'k' });
  await assert.rejects(client.read({ query: 7 }), { name: 'ServiceError', status: 307 });
  await closed;
});

test('a signal ends the walk and the waiting, with its reason', async () => {
  const stopping = new AbortController();
  const reason = new Error('it is enough');
  const pending = { execution_id: 'A', state: 'QUERY_STATE_EXECUTING', is_execution_finished: false };
  const fetch = async () => new Response(JSON.stringify(pending));
  let polls = 0;
  const client = new QueryResults({
    url: 'https://x.example',
    key: 'k',
    fetch,
    sleep: async (_, signal) => {
      polls += 1;
      if (polls === 30) stopping.abort(reason);
      signal?.throwIfAborted();
    },
  });
  await assert.rejects(client.finished('A', stopping.signal), (error) => error === reason);
  await assert.rejects(client.read({ query: 7, signal: stopping.signal }), (error) => error === reason);
  const real = new QueryResults({ url: 'https://x.example', key: 'k', fetch });
  const ending = new AbortController();
  const waiting = real.finished('A', ending.signal);
  ending.abort(reason);
  await assert.rejects(waiting, (error) => error === reason);
});

test('an address and a key that cannot be ones are told at once, and no key is shown', async () => {
  const at = (url: string, key = 'k') => new QueryResults({ url, key });
  for (const url of ['', '127.0.0.1:8080', 'localhost:8080', 'ftp://results.example.com', 'https://']) {
    assert.throws(() => at(url), { name: 'TypeError', message: /expected the service's scheme and host/ }, url);
  }
  for (const key of ['qrs_a\nb', '“qrs_ab”', 'qrs_…']) {
    const refusal = /^the key has a character that no key has: [^_]*$/;
    assert.throws(() => at('https://x.example', key), { name: 'TypeError', message: refusal }, key);
  }
  assert.throws(() => at('https://x.example', null as unknown as string), /key is a text, not object/);
  const { asked, fetch } = recorded({ execution_id: 'A', state: 'QUERY_STATE_PENDING' });
  await new QueryResults({ url: 'https://x.example/\n', key: 'qrs_a\n', fetch }).status('A');
  assert.equal(asked[0]?.url, 'https://x.example/v1/execution/A/status');
  assert.equal(new Headers(asked[0]?.init.headers).get('x-service-api-key'), 'qrs_a');
});

test('an address with more than scheme, host and prefix is refused at once, and no secret in it is shown', () => {
  const refusal = (message: string) => ({ name: 'TypeError', message });
  for (const url of [
    'https://ann:pass-word@results.example.com',
    'https://results.example.com/?api_key=qrs_0123',
    'https://results.example.com/#key=qrs_0123',
    'https://results.example.com?',
  ]) {
    const message = 'url has a user, a "?" or a "#": expected scheme, host and prefix alone; the key is given as key';
    assert.throws(() => new QueryResults({ url, key: 'k' }), refusal(message), url);
  }
  // The key and the address in each other's place.
  const message = "url is no address: expected the service's scheme and host, such as http://127.0.0.1:8080";
  for (const url of ['qrs_0123456789', 'qrs.example.com/?api_key=qrs_0123']) {
    assert.throws(() => new QueryResults({ url, key: 'https://results.example.com' }), refusal(message), url);
  }
});

test('bigints and numbers are values of parameters, and a dataset may have any name', async () => {
  const { asked, fetch } = recorded({ execution_id: 'A' });
  const client = new QueryResults({ url: 'https://x.example', key: 'k', fetch });
  await client.execute(7, { parameters: { floor: 2n ** 64n, on: true, n: 2 } });
  assert.equal(asked[0]?.init.body, '{"query_parameters":{"floor":"18446744073709551616","on":true,"n":2}}');
  assert.equal(
    addressOf({ query: 7, parameters: { floor: 2n ** 64n, on: true } }, {}, {}),
    '/v1/query/7/results?params.floor=18446744073709551616&params.on=true',
  );
  assert.equal(pathOf({ dataset: '/v1/a b/é?' }), '/v1/a%20b/%C3%A9%3F');
});

test('what JavaScript lets through is refused before it is asked for: nothing to read, two things, one text as columns', () => {
  const refused = (target: object, filter: object, message: string) =>
    assert.throws(() => addressOf(target as Target, filter as Filter, {}), { name: 'TypeError', message });
  const oneOf = 'name one of query, execution and dataset';
  refused({}, {}, oneOf);
  refused({ query: undefined }, {}, oneOf);
  refused({ query: 7, execution: 'A' }, {}, oneOf);
  refused({ execution: 'A', parameters: { a: 'b' } }, {}, 'parameters are for a query: they say which of its runs');
  refused({ execution: 'A', asOf: '2024-03-05' }, {}, 'asOf is for a query or a dataset: it says which of its runs');
  refused({ query: 7 }, { columns: 'n' }, 'columns is a list of names, not one text');
  const options =
    'query, execution, dataset, parameters, asOf, columns, filters, search, sortBy, limit, offset, sampleCount, allowPartialResults, signal';
  refused({ query: 7 }, { limt: 1 }, `there is no option "limt": there are ${options}`);
  refused({ query: 7 }, { sort_by: 'n' }, `there is no option "sort_by": there are ${options}`);
  const elsewhere = { query: '7/executions?x=' } as unknown as Target;
  assert.equal(pathOf(elsewhere), '/v1/query/7%2Fexecutions%3Fx%3D/results');
  assert.equal(pathOf({ query: 7, execution: undefined } as unknown as Target), '/v1/query/7/results');
});

test('an option that is none is refused before a query is run', async () => {
  const { client, asked } = scripted([]);
  await assert.rejects(client.runQuery(7, { limt: 1 } as Filter), {
    name: 'TypeError',
    message: /^there is no option "limt"/,
  });
  assert.deepEqual(asked, []);
});

test('the query that is run is one, too', async () => {
  const { client, asked } = scripted([{ execution_id: 'A' }]);
  await client.execute('7/archive?x=' as unknown as number);
  assert.equal(asked[0]?.url, 'https://results.example.com/v1/query/7%2Farchive%3Fx%3D/execute');
});
