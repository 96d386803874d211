/**
 * Stopping: requests in flight have a grace period, new ones are refused, and a request that does not end in time is visibly
 * cut.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import type { Sleep } from '../../src/domain/time.ts';
import type { Metrics } from '../../src/observation/metrics.ts';
import { sleep } from '../real-time.ts';
import { makeCommandLine } from './command.ts';
import { openAnswer } from './http-client.ts';
import { type HttpService, openServer, startHttpService } from './http-service.ts';

const LONG = '/v1/query/7/results?ignore_max_datapoints_per_request=true';

/** The service, and an answer that goes on only while it is read: much more than all buffers on its way hold. */
async function withAnswerUnderWay(t: TestContext, environment: Readonly<Record<string, string>>) {
  const service = await startHttpService(t, environment);
  await service.publish(7, `w\n${`${'x'.repeat(200)}\n`.repeat(200_000)}`);
  const answer = await openAnswer(service.url, LONG, { 'x-service-api-key': service.key });
  await once(answer, 'readable');
  return { service, answer };
}

async function seen(service: HttpService, path: string) {
  const { status, headers } = await service.get(path);
  return [status, headers.get('x-error-code'), headers.get('connection')];
}

test('while the last answer goes out the service is alive, not ready, and takes nothing new; then it stops', async (t) => {
  const { service, answer } = await withAnswerUnderWay(t, { QRS_SHUTDOWN_GRACE: '600' });
  const stopped = service.stop();
  assert.deepEqual(await seen(service, '/readyz'), [503, 'shutting_down', 'close']);
  assert.deepEqual(await seen(service, '/v1/query/7/results?limit=1'), [503, 'shutting_down', 'close']);
  assert.deepEqual(await seen(service, '/healthz'), [200, null, 'close']);
  assert.equal((await service.get('/v1/query/7/results')).headers.get('retry-after'), '5');
  assert.equal(JSON.parse(await text(answer)).result.rows.length, 200_000);
  await stopped;
  const lifecycle = service.observed.filter(({ kind }) => kind === 'stopping' || kind === 'stopped');
  assert.deepEqual(lifecycle, [
    { kind: 'stopping', inFlight: 1 },
    { kind: 'stopped', cut: 0 },
  ]);
  await assert.rejects(service.get('/healthz'));
  assert.deepEqual(service.faults, []);
});

test('an answer that has not ended after the grace period is cut, and its client sees that', async (t) => {
  const { service, answer } = await withAnswerUnderWay(t, { QRS_SHUTDOWN_GRACE: '0' });
  await service.stop();
  await assert.rejects(text(answer), { code: 'ECONNRESET' });
  assert.equal(answer.complete, false);
  assert.deepEqual(service.observed.at(-1), { kind: 'stopped', cut: 1 });
  await service.close();
  const cut = service.observed.find((one) => one.kind === 'answered' && one.aborted);
  assert(cut?.kind === 'answered' && cut.stats.bodyBytes > 0);
  const [used] = JSON.parse(await service.commandLine.get('usage', '--by', 'query', '--json'));
  assert.deepEqual([used.query_id, used.requests, used.bytes], [7, 1, cut.stats.bodyBytes]);
  assert.deepEqual(service.faults, []);
});

test('without requests in flight it stops at once', async (t) => {
  const service = await startHttpService(t, { QRS_SHUTDOWN_GRACE: '600' });
  await (await service.get('/healthz')).text();
  await service.stop();
  await assert.rejects(service.get('/healthz'));
});

/** A connection that is kept, with one request at a time. */
function keptConnection(url: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return async () => {
    const asked = request(`${url}/healthz`, { agent }).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    await text(answer);
    return { status: answer.statusCode, isKept: answer.headers.connection !== 'close', isReused: asked.reusedSocket };
  };
}

test('a worker that leaves what comes to others answers once more on connections that it has', async (t) => {
  const lingering = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const lingers: Sleep = (millis, signal) => {
    if (millis !== 1000) return sleep(millis, signal);
    lingering.resolve();
    return over.promise;
  };
  const shared = { tokens: undefined, shareMetrics: (own: Metrics) => own, mayLeave: async () => true };
  const { server, close } = await openServer(await makeCommandLine(t), {}, undefined, undefined, {
    sleep: lingers,
    shared,
  });
  t.after(close);
  const [busy, other] = [keptConnection(server.url), keptConnection(server.url)];
  const kept = { status: 200, isKept: true, isReused: false };
  assert.deepEqual([await busy(), await other()], [kept, kept]);
  const stopped = server.stop();
  await Promise.race([lingering.promise, stopped]);
  assert.deepEqual(await busy(), { status: 200, isKept: false, isReused: true });
  // Nobody listens any more: these connections are for the others.
  await assert.rejects(busy(), { code: 'ECONNREFUSED' });
  over.resolve();
  await stopped;
  await assert.rejects(other());
});
