/** One attempt: which addresses are connected to, and what becomes of answers without end, late answers and redirects. */
import assert from 'node:assert/strict';
import type { lookup } from 'node:dns';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { NEVER, type Sleep } from '../domain/time.ts';
import { type PostOptions, poster } from './post.ts';

const forever: Sleep = (_millis, signal) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

async function listen(t: TestContext, listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Answers each look-up with the next of these; counts them. */
function lookingUp(answers: readonly (readonly string[])[]) {
  const asked: string[] = [];
  const look = (name: string, _options: object, found: (error: null, addresses: object[]) => void) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(name);
    found(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return { asked, lookup: look as unknown as typeof lookup };
}

function post(url: string, options: Partial<PostOptions> = {}, signal = NEVER) {
  const all = { allowsPrivate: false, version: '1.2.3', sleep: forever, ...options };
  return poster(all)({ url, headers: { 'webhook-id': 'msg_1' }, body: '{"a":"ü"}' }, signal);
}

test('the body is sent as JSON, with who sends it', async (t) => {
  const port = await listen(t, async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { headers } = request;
    assert.equal(`${request.method} ${request.url} ${body}`, 'POST /hook?x=1 {"a":"ü"}');
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['content-length'], '10');
    assert.equal(headers['user-agent'], 'query-results-service/1.2.3');
    assert.equal(headers['webhook-id'], 'msg_1');
    response.writeHead(429, { 'retry-after': '7' }).end('later');
  });
  const outcome = await post(`http://127.0.0.1:${port}/hook?x=1`, { allowsPrivate: true });
  assert.deepEqual(outcome, { kind: 'answered', status: 429, retryAfter: '7' });
});

test('an address that is not public is not connected to, however it is named', async (t) => {
  const port = await listen(t, () => assert.fail('it was connected to'));
  const refused = (host: string) => ({
    kind: 'failed',
    error: `${host} is at no public address, and only such are connected to`,
  });
  for (const host of ['127.0.0.1', '[::1]', '[::ffff:7f00:1]', '0.0.0.0']) {
    assert.deepEqual(await post(`http://${host}:${port}/`), refused(host));
  }
  for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', 'fe80::1', '::ffff:127.0.0.1']) {
    const { lookup: look } = lookingUp([[address]]);
    assert.deepEqual(await post(`http://evil.example:${port}/`, { lookup: look }), refused('evil.example'));
  }
});

test('a name is looked up once, and what was looked at is what is connected to', async (t) => {
  const port = await listen(t, (_request, response) => response.end());
  // Public when it is looked at first, and this machine a moment later.
  const rebinding = lookingUp([['192.0.2.1'], ['127.0.0.1']]);
  const outcome = await post(`http://evil.example:${port}/`, { lookup: rebinding.lookup });
  assert.equal(outcome.kind, 'failed');
  assert.deepEqual(rebinding.asked, ['evil.example']);
  const allowed = lookingUp([['127.0.0.1']]);
  const options = { allowsPrivate: true, lookup: allowed.lookup };
  assert.deepEqual(await post(`http://inside.example:${port}/`, options), { kind: 'answered', status: 200 });
  assert.deepEqual(allowed.asked, ['inside.example']);
});

test('a redirect is an answer and is not followed', async (t) => {
  let requests = 0;
  const port = await listen(t, (_request, response) => {
    requests += 1;
    response.writeHead(307, { location: `http://127.0.0.1:${port}/elsewhere` }).end();
  });
  const outcome = await post(`http://127.0.0.1:${port}/`, { allowsPrivate: true });
  assert.deepEqual([outcome, requests], [{ kind: 'answered', status: 307 }, 1]);
});

test('an answer without end is cut, and its status counts', async (t) => {
  const port = await listen(t, (_request, response) => {
    response.writeHead(200);
    const write = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      response.once('drain', write);
    };
    write();
  });
  const outcome = await post(`http://127.0.0.1:${port}/`, { allowsPrivate: true });
  assert.deepEqual(outcome, { kind: 'answered', status: 200 });
});

test('a receiver that never answers is given up after 15 seconds, and at once when the service stops', async (t) => {
  let wake = () => {};
  const limits: number[] = [];
  const sleep: Sleep = (millis) => {
    limits.push(millis);
    return new Promise((resolve) => {
      wake = resolve;
    });
  };
  let asked = () => {};
  const port = await listen(t, () => asked());
  const url = `http://127.0.0.1:${port}/`;
  const nextRequest = () =>
    new Promise<void>((resolve) => {
      asked = resolve;
    });
  const [first, outcome] = [nextRequest(), post(url, { allowsPrivate: true, sleep })];
  await first;
  wake();
  assert.deepEqual(await outcome, { kind: 'failed', error: 'no answer within 15 s' });
  assert.deepEqual(limits, [15_000]);
  const stopping = new AbortController();
  const [second, broken] = [nextRequest(), post(url, { allowsPrivate: true, sleep }, stopping.signal)];
  await second;
  const reason = new Error('the service stops');
  stopping.abort(reason);
  await assert.rejects(broken, reason);
});

test('what is no answer is a failure that says why', async () => {
  const { lookup: look } = lookingUp([[]]);
  const nowhere = await post('http://nowhere.example/', { lookup: look, allowsPrivate: true });
  assert.deepEqual(nowhere, { kind: 'failed', error: 'nowhere.example has no address' });
  const closed = await post('http://127.0.0.1:1/', { allowsPrivate: true });
  assert.deepEqual(closed, { kind: 'failed', error: 'connect ECONNREFUSED 127.0.0.1:1' });
});
