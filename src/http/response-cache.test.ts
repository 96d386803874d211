import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { letOthersRun } from '../domain/time.ts';
import { Turns } from '../domain/turns.ts';
import type { Observation } from '../observation/observation.ts';
import { RequestStats } from '../observation/request-stats.ts';
import type { CatalogCache } from '../results/cache/catalog-cache.ts';
import { InFlightRequests } from './in-flight-requests.ts';
import { makeResponseCache, ResponseCache } from './response-cache.ts';
import { UnsentAnswers } from './unsent-answers.ts';

/** A catalog that is slow, as over a network. */
class SlowCatalogCache implements Pick<CatalogCache, 'version' | 'refresh'> {
  readonly version = 1;
  readonly asked = Promise.withResolvers<void>();
  readonly answered = Promise.withResolvers<void>();

  refresh(): Promise<void> {
    this.asked.resolve();
    return this.answered.promise;
  }
}

function startCache(catalogCache: Pick<CatalogCache, 'version' | 'refresh'>, chunkTurns = new Turns()) {
  const inFlight = new InFlightRequests();
  const observed: Observation[] = [];
  const hot = new ResponseCache(
    catalogCache as CatalogCache,
    {
      inFlight,
      newRequestId: () => 'r1',
      observe: (observation) => observed.push(observation),
      clock: () => 0,
      monotonic: () => 0,
      cors: { origins: [], requestHeaders: [] },
      rateLimit: undefined,
      stalledMillis: 1000,
      unsent: new UnsentAnswers(1_000_000),
    },
    makeResponseCache(1_000_000),
    chunkTurns,
  );
  return { hot, inFlight, observed };
}

/** Offers the answer to a request whose key was looked up after the catalog had one version, and its run after it had another. */
function offer(
  hot: ResponseCache,
  versionBefore: number,
  catalogVersion: number,
  payload = Buffer.from('an answer'),
): void {
  const raw = { method: 'GET', url: '/x', rawHeaders: ['Host', 'y'], socket: {} };
  const reusable = { catalogVersion, execution: {}, cachePolicy: () => ({ kind: 'revalidate' }) };
  const of = { principal: { keyId: 'k' }, stats: new RequestStats(), routeOptions: { url: '/x' } };
  const request = { raw, reusable, versionBefore, ...of };
  const reply = { statusCode: 200, getHeaders: () => ({}) };
  hot.offer(request as unknown as FastifyRequest, reply as unknown as FastifyReply, payload, {});
}

test('a client that leaves while the catalog is asked leaves nothing in flight', async (t) => {
  const catalogCache = new SlowCatalogCache();
  const { hot, inFlight, observed } = startCache(catalogCache);
  offer(hot, 1, 1);

  const server = createServer(hot.before(() => assert.fail('it is hot')));
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const [[serverSide], client] = await Promise.all([
    once(server, 'connection'),
    connect((server.address() as AddressInfo).port, '127.0.0.1'),
  ]);
  client.write('GET /x HTTP/1.1\r\nHost: y\r\n\r\n');
  await catalogCache.asked.promise;
  client.destroy();
  await once(serverSide, 'close');
  catalogCache.answered.resolve();
  await catalogCache.answered.promise;
  assert.equal(inFlight.count, 0);
  assert.deepEqual(observed, []);
});

for (const [versionBefore, kept] of [
  [2, true],
  [1, false],
] as const) {
  test(`an answer whose key was looked up after version ${versionBefore} is ${kept ? '' : 'not '}kept under version 2`, async (t) => {
    const { hot } = startCache({ version: 2, refresh: () => undefined });
    offer(hot, versionBefore, 2);
    const server = createServer(hot.before((_request, response) => response.end('asked anew')));
    t.after(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.end('GET /x HTTP/1.1\r\nHost: y\r\n\r\n');
    assert.match(await text(client), kept ? /an answer/ : /asked anew/);
  });
}

for (const [what, bytes, byRound] of [
  ['small', 9, [100, 200, 300, 400, 500]],
  ['large', 100_000, [250, 500]],
] as const) {
  test(`of those who ask for a ${what} page at the same moment some are answered in each round of the event loop`, async () => {
    const { hot } = startCache({ version: 2, refresh: () => undefined }, new Turns(250));
    offer(hot, 2, 2, Buffer.alloc(bytes, 'x'));
    const answer = hot.before(() => assert.fail('it is hot'));
    const request = { method: 'GET', url: '/x', rawHeaders: ['Host', 'y'], socket: {} } as unknown as IncomingMessage;
    let answered = 0;
    const end = () => {
      answered += 1;
    };
    const response = { socket: { writableLength: 0 }, writeHead: () => undefined, end } as unknown as ServerResponse;
    for (let client = 0; client < 500; client += 1) answer(request, response);
    const counts = [answered];
    while (answered < 500) {
      await letOthersRun();
      counts.push(answered);
    }
    assert.deepEqual(counts, byRound);
  });
}
