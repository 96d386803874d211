/** The proxies before replicas: our own for tests, and what HAProxy is configured with. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { haproxyConfiguration } from '../../cluster/front/haproxy.ts';
import { startRoundRobin } from '../../cluster/front/round-robin.ts';
import { freePort } from '../free-port.ts';

async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A replica that says its name and what it was sent. */
async function replica(t: TestContext, name: string): Promise<number> {
  const answer: RequestListener = async (incoming, outgoing) => {
    const body = await text(incoming);
    outgoing.end(`${name} ${incoming.method} ${incoming.url} ${body}`.trim());
  };
  const server = createHttpServer(answer);
  t.after(() => server.closeAllConnections());
  return await listen(t, server);
}

/** A replica that dies when a request has come. @param answered what it has sent by then */
async function dying(t: TestContext, answered = ''): Promise<number> {
  return await listen(
    t,
    createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => (answered === '' ? socket.resetAndDestroy() : socket.end(answered)));
    }),
  );
}

async function front(t: TestContext, ports: readonly number[]): Promise<string> {
  const { url, [Symbol.asyncDispose]: stop } = await startRoundRobin(ports);
  t.after(stop);
  return url;
}

test('requests go to the replicas in turn', async (t) => {
  const url = await front(t, [await replica(t, 'a'), await replica(t, 'b')]);
  const said: string[] = [];
  for (let n = 0; n < 4; n += 1) said.push(await (await fetch(`${url}/x?n=${n}`)).text());
  assert.deepEqual(said, ['b GET /x?n=0', 'a GET /x?n=1', 'b GET /x?n=2', 'a GET /x?n=3']);
});

test('a replica that is gone costs no error, whatever is asked', async (t) => {
  const url = await front(t, [await replica(t, 'a'), await freePort()]);
  for (let n = 0; n < 3; n += 1) {
    assert.equal(await (await fetch(`${url}/x`)).text(), 'a GET /x');
    assert.equal(await (await fetch(`${url}/y`, { method: 'POST', body: 'rows' })).text(), 'a POST /y rows');
  }
});

test('one that dies before it answers costs no error where the request may be sent twice, and is told where not', async (t) => {
  const url = await front(t, [await replica(t, 'a'), await dying(t)]);
  for (let n = 0; n < 4; n += 1) assert.equal(await (await fetch(`${url}/x`)).text(), 'a GET /x');
  const posts = await Promise.allSettled([1, 2].map(() => fetch(`${url}/y`, { method: 'POST', body: 'rows' })));
  assert.deepEqual(posts.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
});

test('an answer that breaks off is never ended as if it were whole', async (t) => {
  const url = await front(t, [await dying(t, 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly so much')]);
  await assert.rejects(async () => await (await fetch(`${url}/x`)).text(), /terminated|fetch failed/);
});

test('the packaged configuration of HAProxy becomes one for replicas with fixed addresses', async () => {
  const packaged = await readFile(join(import.meta.dirname, '../../packaging/haproxy.cfg'), 'utf8');
  for (const line of ['option redispatch', 'retry-on conn-failure empty-response']) assert(packaged.includes(line));
  const local = haproxyConfiguration(packaged, 8000, [8001, 8002]);
  const lines = local.split('\n').map((line) => line.trim());
  assert.deepEqual(
    lines.filter((line) => /^(bind|server|server-template|nameserver|resolvers)\b/.test(line)),
    [
      'bind 127.0.0.1:8000',
      'server replica-1 127.0.0.1:8001 check',
      'server replica-2 127.0.0.1:8002 check',
      'server replica-1 127.0.0.1:8001 check',
      'server replica-2 127.0.0.1:8002 check',
    ],
  );
});
