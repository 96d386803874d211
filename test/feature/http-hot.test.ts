/** The same request again is answered from memory as long as the answer holds, and counts like every other. */
import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import fc from 'fast-check';
import type { AnsweredRequest } from '../../src/observation/observation.ts';
import { openAnswer } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';

const ROWS = `n,word\n${Array.from({ length: 400 }, (_, n) => `${n},"a wörd — 詞, ${n}"`).join('\n')}\n`;
/** The first reads the page, the second finds it in memory; after that it is hot. */
const UNTIL_HOT = 2;

function answered(service: HttpService): readonly AnsweredRequest[] {
  return service.observed.filter((observation) => observation.kind === 'answered');
}

/** An answer that went through the router has at least authenticated its key. */
function isHot({ stats }: AnsweredRequest): boolean {
  return stats.stageMillis.size === 0;
}

async function ask(service: HttpService, path: string, headers: Readonly<Record<string, string>> = {}) {
  const before = answered(service).length;
  const response = await openAnswer(service.url, path, { 'x-service-api-key': service.key, ...headers }, 'GET');
  const answer = { status: response.statusCode, headers: response.headers, body: await buffer(response) };
  while (answered(service).length === before) await new Promise((resolve) => setImmediate(resolve));
  const observation = answered(service)[before];
  assert.ok(observation !== undefined);
  return { ...answer, hot: isHot(observation), observation };
}

/** Headers that may differ between two answers to the same request. */
const OWN = ['x-request-id', 'server-timing', 'date'];

test('an answer before the router is the same as one behind it, for any request', async (t) => {
  const service = await startHttpService(t, { QRS_CORS_ORIGINS: 'https://app.example.com' });
  const { id } = await service.publish(7, ROWS);
  const etag = (await service.get(`/v1/execution/${id}/results?limit=3`)).headers.get('etag') ?? '';
  const path = fc.constantFrom(
    ...['limit=3', 'limit=400', 'limit=3&offset=10', 'columns=n', 'sort_by=n desc&limit=5', 'filters=n < 3'].flatMap(
      (parameters) =>
        [`query/7/results`, `query/7/results/csv`, `execution/${id}/results`].map(
          (address) => `/v1/${address}?${encodeURI(parameters)}`,
        ),
    ),
  );
  const headers = fc.record(
    {
      accept: fc.constantFrom('application/json', 'application/x-ndjson', '*/*'),
      'accept-encoding': fc.constantFrom('identity', 'gzip', 'br', 'zstd, gzip'),
      'if-none-match': fc.constantFrom(etag, '"another"', '*'),
      origin: fc.constantFrom('https://app.example.com', 'https://elsewhere.example.com'),
      'user-agent': fc.constant('a dashboard'),
    },
    { requiredKeys: [] },
  );
  let hot = 0;
  const law = fc.asyncProperty(path, headers, async (asked, sent) => {
    const plain = await ask(service, asked, sent);
    for (let time = 0; time < 3; time += 1) {
      const again = await ask(service, asked, sent);
      if (again.hot) hot += 1;
      assert.equal(again.status, plain.status);
      assert.deepEqual(without(again.headers, OWN), without(plain.headers, OWN));
      assert.ok(again.body.equals(plain.body));
      assert.notEqual(again.headers['x-request-id'], plain.headers['x-request-id']);
      const { rowCount, cellBytes, datapoints, bodyBytes, queryId, executionId } = plain.observation.stats;
      assert.partialDeepStrictEqual(again.observation.stats, {
        rowCount,
        cellBytes,
        datapoints,
        bodyBytes,
        queryId,
        executionId,
      });
      assert.partialDeepStrictEqual(again.observation, {
        keyId: plain.observation.keyId,
        method: 'GET',
        route: plain.observation.route,
        status: plain.status,
        aborted: false,
      });
    }
  });
  await fc.assert(law, { numRuns: 60 });
  assert.ok(hot >= 60, `${hot} of 180 answers were hot`);
});

function without(headers: Readonly<Record<string, unknown>>, names: readonly string[]) {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

async function warmUp(service: HttpService, path: string, headers: Readonly<Record<string, string>> = {}) {
  for (let time = 0; time < UNTIL_HOT; time += 1) await ask(service, path, headers);
  const answer = await ask(service, path, headers);
  assert.ok(answer.hot);
  return answer;
}

test('a key that is revoked is refused by the next request', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, ROWS);
  const key = await service.commandLine.get('keys', 'create', '--user', 'ann');
  const { observation } = await warmUp(service, '/v1/query/7/results?limit=1', { 'x-service-api-key': key });
  await service.commandLine.get('keys', 'revoke', observation.keyId ?? '');
  assert.equal((await ask(service, '/v1/query/7/results?limit=1', { 'x-service-api-key': key })).status, 401);
});

test('the next request after a new run is answered with that run', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'n\n1\n');
  await warmUp(service, '/v1/query/7/results/csv');
  service.commandLine.now += 1000;
  await service.publish(7, 'n\n2\n');
  const { body, hot } = await ask(service, '/v1/query/7/results/csv');
  assert.deepEqual([body.toString(), hot], ['n\n2\n', false]);
});

test('the time that an answer may be kept ends, and later the result itself', async (t) => {
  const service = await startHttpService(t, { QRS_RETENTION_DAYS: '1' });
  const { id } = await service.publish(7, 'n\n1\n');
  const path = `/v1/execution/${id}/results`;
  assert.equal((await warmUp(service, path)).headers['cache-control'], 'private, max-age=86400');
  service.commandLine.now += 3_600_000;
  const later = await ask(service, path);
  assert.deepEqual([later.headers['cache-control'], later.hot], ['private, max-age=82800', true]);
  service.commandLine.now += 23 * 3_600_000;
  const expired = await ask(service, path);
  assert.equal(expired.hot, false);
  assert.equal(JSON.parse(expired.body.toString()).state, 'QUERY_STATE_EXPIRED');
});

test('answers before the router count for the rate limit of the key', async (t) => {
  const service = await startHttpService(t, { QRS_RATE_LIMIT: '0.001', QRS_RATE_BURST: '5' });
  await service.publish(7, 'n\n1\n');
  const seen: (readonly [unknown, unknown, boolean])[] = [];
  for (let time = 0; time < 6; time += 1) {
    const { status, headers, hot } = await ask(service, '/v1/query/7/results');
    seen.push([status, headers.ratelimit, hot]);
  }
  assert.deepEqual(seen, [
    [200, '"default";r=4;t=1000', false],
    [200, '"default";r=3;t=2000', false],
    [200, '"default";r=2;t=3000', true],
    [200, '"default";r=1;t=4000', true],
    [200, '"default";r=0;t=1000', true],
    [429, '"default";r=0;t=1000', false],
  ]);
});

test('answers before the router are in the usage', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'n\n1\n2\n');
  const { observation } = await warmUp(service, '/v1/query/7/results/csv');
  assert.equal(observation.stats.bodyBytes, 6);
  await service.close();
  const usage = JSON.parse(await service.commandLine.get('usage', '--by', 'query', '--json'));
  assert.deepEqual(usage, [{ query_id: 7, requests: 3, datapoints: 6, bytes: 18 }]);
});

test('a request with its own id, through a proxy or for a range is never hot', async (t) => {
  const service = await startHttpService(t, { QRS_TRUST_PROXY: 'loopback' });
  await service.publish(7, 'n\n1\n');
  for (const headers of [
    { 'x-request-id': 'mine' },
    { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
    { 'x-forwarded-host': 'results.example.org' },
    { range: 'bytes=0-1' },
  ]) {
    for (let time = 0; time < UNTIL_HOT; time += 1) await ask(service, '/v1/query/7/results', headers);
    const { status, hot } = await ask(service, '/v1/query/7/results', headers);
    assert.deepEqual([status, hot], ['range' in headers ? 206 : 200, false], JSON.stringify(headers));
  }
});

test('while the service stops, answers before the router are refused like all others', async (t) => {
  const service = await startHttpService(t, { QRS_SHUTDOWN_GRACE: '5' });
  await service.publish(7, 'n\n1\n');
  await warmUp(service, '/v1/query/7/results');
  const stopping = service.stop();
  const answer = await ask(service, '/v1/query/7/results').catch(() => undefined);
  assert.ok(answer === undefined || answer.status === 503);
  await stopping;
});
