/**
 * The publisher over HTTP when things go wrong: what is sent again, how long it waits before, and that a publish happens once however
 * often its connections break. What it does when all is well is in test/contract/publisher.test.ts.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Answer, Connection, type Sending } from '../../src/library/http/connection.ts';
import { openHttpPublisher } from '../../src/library/http/http-publisher.ts';
import { type ClientEffects, ServiceClient } from '../../src/library/http/service-client.ts';
import type { Progress } from '../../src/library/publication.ts';
import { sleep } from '../real-time.ts';
import { type Fault, startFaultyProxy } from './faulty-proxy.ts';
import { type HttpService, startHttpService } from './http-service.ts';
import { Random } from './random-results.ts';

const SEED = Number(process.env.TEST_SEED ?? 1);
const CASES = Number(process.env.TEST_CASES ?? 12);
const NEVER = new AbortController().signal;
const EFFECTS: ClientEffects = {
  clock: Date.now,
  // As long as the service needs to notice that a connection has gone.
  sleep: (_, signal) => sleep(20, signal),
  random: Math.random,
  newIdempotencyKey: randomUUID,
};

async function start(t: TestContext) {
  const service = await startHttpService(t);
  await service.commandLine.get('queries', 'add', '--id', '100', '--user', 'ann');
  return { service, key: await service.commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'write') };
}

async function runsOf(service: HttpService): Promise<readonly string[]> {
  return (await (await service.catalog()).executions.list({ queryId: 100, limit: 100 })).map(({ id }) => id);
}

/** Resolves when nothing is being published any more. */
async function untilQuiet(service: HttpService): Promise<void> {
  const { leases } = await service.catalog();
  const held = async () => [...(await leases.list('idempotency:')), ...(await leases.list('write:'))];
  while ((await held()).length > 0) await new Promise((resolve) => setImmediate(resolve));
}

/** Rows of some 200 KB, so that a connection breaks in the middle of them. */
const rows = Array.from({ length: 10_000 }, (_, n) => ({ n, text: `row number ${n}` }));

test('law: whatever becomes of its connections, a publish is done once, or fails and is not', async (t) => {
  const { service, key } = await start(t);
  t.diagnostic(`TEST_SEED=${SEED}`);
  const random = new Random(SEED);
  const faults = (): Fault => {
    const dice = random.below(100);
    if (dice < 30) return { kind: 'none' };
    if (dice < 55) return { kind: 'cut request', bytes: random.below(300_000) };
    if (dice < 80) return { kind: 'lose answer' };
    return {
      kind: 'answer',
      head: random.chance(50) ? '503 Service Unavailable\r\nRetry-After: 1' : '502 Bad Gateway',
    };
  };
  const proxy = await startFaultyProxy(t, service.url, faults);
  const done: string[] = [];
  let failed = 0;
  for (let round = 0; round < CASES; round += 1) {
    const publisher = openHttpPublisher({ url: proxy.url, key, retries: 4 }, EFFECTS);
    const source = { kind: 'rows', rows } as const;
    const before = await runsOf(service);
    try {
      done.unshift((await publisher.publish({ queryId: 100, source })).id);
    } catch (error) {
      assert.equal((error as Error).name, 'ServiceError', String(error));
      failed += 1;
      // Its answer may have been lost, each time: then it was done, and once, or is being done still.
      await untilQuiet(service);
      const more = (await runsOf(service)).filter((id) => !before.includes(id));
      assert.ok(more.length <= 1, `${more.length} runs of one publish`);
      done.unshift(...more);
    }
    assert.deepEqual(await runsOf(service), done);
    // What has been sent is not sent on the connection of another round.
    await publisher[Symbol.asyncDispose]();
  }
  t.diagnostic(`${proxy.connections} connections, ${done.length} runs, ${failed} publishes that gave up`);
  for (const id of done) {
    const { result } = await service.json(`/v1/execution/${id}/results?limit=1`);
    assert.equal(
      (result as { readonly metadata: { readonly total_row_count: number } }).metadata.total_row_count,
      10_000,
    );
  }
});

test('an answer that was lost: the publish is sent again, and answered with the run of the first time', async (t) => {
  const { service, key } = await start(t);
  // The first connection asks whether the query is there.
  const faults: Fault[] = [{ kind: 'none' }, { kind: 'lose answer' }];
  const proxy = await startFaultyProxy(t, service.url, () => faults.shift() ?? { kind: 'none' });
  const publisher = openHttpPublisher({ url: `${proxy.url}/`, key }, EFFECTS);
  t.after(() => publisher[Symbol.asyncDispose]());
  const { id } = await publisher.publish({ queryId: 100, source: { kind: 'rows', rows } });
  assert.deepEqual(await runsOf(service), [id]);
  assert.equal(proxy.connections, 3);
});

test('what the service refuses before it has the file is told, and the rest of the file is not sent', async (t) => {
  const { service, key } = await start(t);
  const path = join(service.commandLine.directory, 'large.csv');
  await writeFile(path, `n\n${'1\n'.repeat(20_000_000)}`);
  const connection = new Connection(new URL(service.url), 'wrong');
  t.after(() => connection[Symbol.dispose]());
  let sent = 0;
  const onSent = (bytes: number) => {
    sent = bytes;
  };
  const body = { kind: 'file', path, bytes: 40_000_002, onSent } as const;
  const sending: Sending = { method: 'POST', path: '/v1/query/100/results', headers: {}, body };
  const answer = await connection.attempt(sending, NEVER);
  assert.deepEqual([answer.status, answer.body], [401, { error: 'invalid API Key' }]);
  assert.ok(sent < 40_000_002, `${sent} bytes were sent`);

  const refused = async (by: string, message: string) => {
    const publisher = openHttpPublisher({ url: service.url, key: by }, EFFECTS);
    await assert.rejects(publisher.publish({ queryId: 100, source: { kind: 'file', path } }), {
      name: 'AccessError',
      message,
    });
    await publisher[Symbol.asyncDispose]();
  };
  await refused('wrong', 'invalid API Key');
  await refused(service.key, 'this API key may only read');
  const other = openHttpPublisher({ url: `${service.url}/elsewhere`, key }, EFFECTS);
  await assert.rejects(other.submit({ queryId: 100 }), { name: 'ServiceError', status: 404, code: 'route_not_found' });
  await other[Symbol.asyncDispose]();
  const versioned = openHttpPublisher({ url: `${service.url}/v1/`, key }, EFFECTS);
  await assert.rejects(versioned.submit({ queryId: 100 }), {
    message:
      'not found: POST /v1/v1/query/100/executions: /v1 is there twice; clients add it to the address that they are given (404)',
  });
  await versioned[Symbol.asyncDispose]();
});

test('a service that cannot be reached, and a publisher that was closed, are named', async (t) => {
  const { service, key } = await start(t);
  const publisher = openHttpPublisher({ url: 'http://127.0.0.1:1', key, retries: 2 }, EFFECTS);
  await assert.rejects(publisher.submit({ queryId: 100 }), {
    name: 'ServiceError',
    message: 'POST /v1/query/100/executions was sent 3 times and not answered: connect ECONNREFUSED 127.0.0.1:1',
    status: undefined,
  });
  const closed = openHttpPublisher({ url: service.url, key }, EFFECTS);
  await closed[Symbol.asyncDispose]();
  await assert.rejects(closed.submit({ queryId: 100 }), { message: 'the publisher has been closed' });
});

/** A server that is none of ours, and how often it was asked. */
async function startForeign(t: TestContext, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const publisher = openHttpPublisher(
    { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'k' },
    EFFECTS,
  );
  t.after(() => publisher[Symbol.asyncDispose]());
  return { publisher, asked };
}

test('a redirect is not followed, and told as one', async (t) => {
  const { publisher, asked } = await startForeign(t, (_, response) =>
    response.writeHead(308, { location: 'https://results.example.com/v1/query/100?token=x' }).end(),
  );
  await assert.rejects(publisher.publish({ queryId: 100, source: { kind: 'rows', rows } }), {
    name: 'ServiceError',
    status: 308,
    message:
      'redirected to https://results.example.com/v1/query/100, which is not followed: url is where the service itself answers',
  });
  assert.deepEqual(asked, ['GET /v1/query/100']);
});

test('what onProgress fails with ends the publish at once: it is no fault of the connection', async (t) => {
  const { publisher } = await startForeign(t, (request, response) => {
    request.resume();
    if (request.method === 'GET') response.end('{}');
  });
  const mistake = new Error('no such progress bar');
  let calls = 0;
  const onProgress = ({ phase }: Progress) => {
    if (phase !== 'sending') return;
    calls += 1;
    throw mistake;
  };
  await assert.rejects(
    publisher.publish({ queryId: 100, source: { kind: 'rows', rows }, onProgress }),
    (error) => error === mistake,
  );
  assert.equal(calls, 1);
});

test('a publish that the service still carries out when it is given up is told as that, and not as something wrong with what was sent', async (t) => {
  const { publisher } = await startForeign(t, (request, response) => {
    request.resume().on('end', () => {
      if (request.method === 'GET') return response.end('{}');
      response.writeHead(409, { 'content-type': 'application/json', 'x-error-code': 'idempotency_in_progress' });
      return response.end('{"error":"the first request is still being carried out"}');
    });
  });
  await assert.rejects(publisher.publish({ queryId: 100, source: { kind: 'rows', rows } }), {
    name: 'ServiceError',
    message: 'the first request is still being carried out (409)',
    status: 409,
    code: 'idempotency_in_progress',
  });
});

test('a file that is deleted before it is sent again is told as that', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-deleted-'));
  t.after(async () => await rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'trades.csv');
  await writeFile(path, 'n\n1\n');
  const { publisher, asked } = await startForeign(t, (request, response) => {
    if (request.method === 'GET') {
      response.end('{}');
      return;
    }
    rmSync(path);
    request.socket.destroy();
  });
  await assert.rejects(publisher.publish({ queryId: 100, source: { kind: 'file', path } }), {
    name: 'PublishError',
    message: `${path} cannot be read: ENOENT: no such file or directory, open '${path}'`,
  });
  assert.deepEqual(asked, ['GET /v1/query/100', 'POST /v1/query/100/results']);
});

/** The answers that come one after the other, and what the client did meanwhile. */
async function sent(
  answers: readonly (Partial<Answer> | Error)[],
  retriesMax: number,
  method: Sending['method'] = 'POST',
) {
  const keys: (string | undefined)[] = [];
  const pauses: number[] = [];
  const left = [...answers];
  const attempt = async ({ headers }: Sending): Promise<Answer> => {
    keys.push(headers['idempotency-key']);
    const answer = left.shift() ?? assert.fail('sent once more than there are answers');
    if (answer instanceof Error) throw answer;
    return { status: 200, code: undefined, retryAfter: undefined, body: {}, ...answer };
  };
  const client = new ServiceClient({ attempt }, retriesMax, {
    clock: () => Date.parse('2024-03-05T20:50:59Z'),
    random: () => 0,
    sleep: async (millis) => {
      pauses.push(millis);
    },
    newIdempotencyKey: () => 'key-1',
  });
  const sending: Sending = { method, path: '/v1/x?types=y', headers: {} };
  const outcome = await client.send(sending, NEVER).then(
    ({ status }) => status,
    (error: Error) => error.message,
  );
  assert.deepEqual(left, []);
  return { outcome, pauses, keys };
}

test('what may pass is sent again, under the same Idempotency-Key, after growing pauses or as Retry-After says', async () => {
  const busy = { status: 503 };
  assert.deepEqual(await sent([busy, { status: 408 }, { status: 504 }, { status: 502 }, new Error('reset'), {}], 8), {
    outcome: 200,
    pauses: [250, 500, 1000, 2000, 4000],
    keys: Array(6).fill('"key-1"'),
  });
  const after = (retryAfter: string) => ({ status: 429, retryAfter });
  const asked = [after('7'), after('Tue, 05 Mar 2024 20:51:01 GMT'), after('soon'), after('0')];
  assert.deepEqual((await sent([...asked, {}], 8)).pauses, [7000, 2000, 1000, 0]);
  // No pause of nothing for what is none.
  assert.deepEqual((await sent([after('1.5'), after('-5'), {}], 8)).pauses, [250, 500]);
  const running = { status: 409, code: 'idempotency_in_progress', retryAfter: '1' };
  assert.deepEqual((await sent([running, { status: 201 }], 8)).outcome, 201);
  assert.deepEqual((await sent([busy, {}], 8, 'GET')).keys, [undefined, undefined]);
  const long = await sent(Array(13).fill(busy), 12);
  assert.deepEqual(long.pauses.slice(-4), [15_000, 15_000, 15_000, 15_000]);
});

test('what cannot pass, and what may but does not within the limit, is the outcome', async () => {
  for (const status of [400, 401, 403, 404, 409, 413, 415, 422, 500, 507]) {
    assert.deepEqual((await sent([{ status }], 8)).outcome, status);
  }
  assert.deepEqual((await sent([{ status: 503 }, { status: 503 }, { status: 503 }], 2)).outcome, 503);
  assert.deepEqual((await sent([{ status: 503, retryAfter: '301' }], 2)).outcome, 503);
  const [broken, refused] = [new Error('socket hang up'), new AggregateError([new Error('connect ECONNREFUSED ::1')])];
  assert.equal((await sent([broken], 0)).outcome, 'POST /v1/x was sent once and not answered: socket hang up');
  assert.equal(
    (await sent([broken, refused], 1)).outcome,
    'POST /v1/x was sent 2 times and not answered: connect ECONNREFUSED ::1',
  );
});

test('a signal ends the waiting', async () => {
  const stopping = new AbortController();
  const attempt = async (): Promise<Answer> => ({ status: 503, code: undefined, retryAfter: undefined, body: {} });
  const reason = new Error('it is enough');
  const client = new ServiceClient({ attempt }, 8, {
    ...EFFECTS,
    sleep: async (millis, signal) => {
      stopping.abort(reason);
      await sleep(millis, signal);
    },
  });
  const sending: Sending = { method: 'GET', path: '/v1/x', headers: {} };
  await assert.rejects(client.send(sending, stopping.signal), (error) => error === reason);
});
