import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
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

test('a client that leaves while the catalog is asked leaves nothing in flight', async (t) => {
  const catalogCache = new SlowCatalogCache();
  const inFlight = new InFlightRequests();
  const observed: Observation[] = [];
  const hot = new ResponseCache(
    catalogCache as unknown as CatalogCache,
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
  const raw = { method: 'GET', url: '/x', rawHeaders: ['Host', 'y'], socket: {} };
  const reusable = { catalogVersion: 1, execution: {}, cachePolicy: () => ({ kind: 'revalidate' }) };
  const request = { raw, reusable, principal: { keyId: 'k' }, stats: new RequestStats(), routeOptions: { url: '/x' } };
  const reply = { statusCode: 200, getHeaders: () => ({}) };
  hot.offer(request as unknown as FastifyRequest, reply as unknown as FastifyReply, Buffer.from('an answer'), {});

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
