import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Observation } from '../observation/observation.ts';
import { Tally } from '../observation/tally.ts';
import type { Lookups } from '../results/lookups.ts';
import { HotAnswers, hotAnswerCache } from './hot-answers.ts';
import { Traffic } from './traffic.ts';

/** A catalog that takes its time, as over a network. */
class SlowLookups implements Pick<Lookups, 'version' | 'refresh'> {
  readonly version = 1;
  readonly asked = Promise.withResolvers<void>();
  readonly answered = Promise.withResolvers<void>();

  refresh(): Promise<void> {
    this.asked.resolve();
    return this.answered.promise;
  }
}

test('a client that goes while the catalog is asked leaves nothing under way', async (t) => {
  const lookups = new SlowLookups();
  const traffic = new Traffic();
  const observed: Observation[] = [];
  const hot = new HotAnswers(
    lookups as unknown as Lookups,
    {
      traffic,
      observe: (observation) => observed.push(observation),
      clock: () => 0,
      monotonic: () => 0,
      cors: { origins: [], requestHeaders: [] },
      rateLimit: undefined,
      stalledMillis: 1000,
    },
    hotAnswerCache(1_000_000),
  );
  const raw = { method: 'GET', url: '/x', rawHeaders: ['Host', 'y'], socket: {} };
  const repeated = { catalogVersion: 1, execution: {}, freshness: () => ({ kind: 'revalidate' }) };
  const request = { raw, repeated, principal: { keyId: 'k' }, tally: new Tally(), routeOptions: { url: '/x' } };
  const reply = { statusCode: 200, getHeaders: () => ({}) };
  hot.offer(request as unknown as FastifyRequest, reply as unknown as FastifyReply, Buffer.from('an answer'));

  const server = createServer(hot.before(() => assert.fail('it is hot')));
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const [[serverSide], client] = await Promise.all([
    once(server, 'connection'),
    connect((server.address() as AddressInfo).port, '127.0.0.1'),
  ]);
  client.write('GET /x HTTP/1.1\r\nHost: y\r\n\r\n');
  await lookups.asked.promise;
  client.destroy();
  await once(serverSide, 'close');
  lookups.answered.resolve();
  await lookups.answered.promise;
  assert.equal(traffic.underWay, 0);
  assert.deepEqual(observed, []);
});
