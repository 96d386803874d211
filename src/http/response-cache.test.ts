import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import type { FastifyReply, FastifyRequest } from 'fastify';
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

function startCache(catalogCache: Pick<CatalogCache, 'version' | 'refresh'>) {
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
      unsent: new UnsentAnswers(0),
    },
    makeResponseCache(1_000_000),
  );
  return { hot, inFlight, observed };
}

/** Offers the answer to a request whose key was looked up after the catalog had one version, and its run after it had another. */
function offer(hot: ResponseCache, versionBefore: number, catalogVersion: number): void {
  const raw = { method: 'GET', url: '/x', rawHeaders: ['Host', 'y'], socket: {} };
  const reusable = { catalogVersion, execution: {}, cachePolicy: () => ({ kind: 'revalidate' }) };
  const of = { principal: { keyId: 'k' }, stats: new RequestStats(), routeOptions: { url: '/x' } };
  const request = { raw, reusable, versionBefore, ...of };
  const reply = { statusCode: 200, getHeaders: () => ({}) };
  hot.offer(request as unknown as FastifyRequest, reply as unknown as FastifyReply, Buffer.from('an answer'), {});
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
