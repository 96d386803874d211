/** A key loses a right while its request is under way: nothing is changed (contract §9). */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { type HttpService, startHttpService } from './http-service.ts';

interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly key: string;
  readonly body: string;
}

/** Sends the body only after `meanwhile`, once the service has admitted the request. */
async function askWhile(
  service: HttpService,
  { method = 'POST', path, key, body }: Asked,
  meanwhile: () => Promise<unknown> | undefined,
): Promise<readonly [status: number, code: string | undefined]> {
  const sent = request(service.url + path, {
    method,
    headers: { 'x-service-api-key': key, expect: '100-continue', 'content-length': body.length },
  });
  sent.flushHeaders();
  await once(sent, 'continue');
  await meanwhile();
  sent.end(body);
  const [response] = await once(sent, 'response');
  await text(response);
  return [response.statusCode, response.headers['x-error-code']];
}

/** Query 7 is the team's, and ann is a member. */
async function start(t: TestContext) {
  const service = await startHttpService(t);
  const { commandLine: qrs } = service;
  await qrs.get('teams', 'add', 'crew', '--member', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--team', 'crew');
  let made = 0;
  const keyOf = async (...terms: readonly string[]) => {
    made += 1;
    const called = `key ${made}`;
    const key = await qrs.get('keys', 'create', '--user', 'ann', '--name', called, ...terms);
    const id = (await (await service.catalog()).principals.listKeys()).find(({ name }) => name === called)?.id ?? '';
    return { key, revoke: async () => await qrs.get('keys', 'revoke', id) };
  };
  return { service, qrs, keyOf, runs: async () => await (await service.catalog()).executions.list({ limit: 10 }) };
}

test('a key that is revoked in the meantime commits nothing: no result, no run, no change, no key', async (t) => {
  const { service, keyOf, runs } = await start(t);
  const { principals, queries } = await service.catalog();
  const queriesBefore = await queries.list();
  const ask = async (asked: Omit<Asked, 'key'>, scope = 'write') => {
    const { key, revoke } = await keyOf('--scope', scope);
    return await askWhile(service, { ...asked, key }, revoke);
  };
  const refused = [401, 'invalid_api_key'];
  assert.deepEqual(await ask({ path: '/v1/query/7/results', body: 'n\n1\n' }), refused);
  assert.deepEqual(await ask({ path: '/v1/query/7/executions', body: '{}' }), refused);
  assert.deepEqual(await ask({ method: 'PATCH', path: '/v1/query/7', body: '{"name":"x"}' }), refused);
  assert.deepEqual(await ask({ path: '/v1/query', body: '{"name":"x"}' }), refused);
  assert.deepEqual(await ask({ path: '/v1/users', body: '{"name":"eve"}' }, 'admin'), refused);
  const before = (await principals.listKeys()).length;
  assert.deepEqual(await ask({ path: '/v1/keys', body: '{"user":"ann","scope":"admin"}' }, 'admin'), refused);
  assert.equal((await principals.listKeys()).length, before + 1);
  assert.deepEqual(await runs(), []);
  assert.deepEqual(await queries.list(), queriesBefore);
});

test('a key that expires in the meantime commits nothing', async (t) => {
  const { service, qrs, keyOf, runs } = await start(t);
  const { key } = await keyOf('--scope', 'write', '--expires', '1h');
  const asked = { path: '/v1/query/7/executions', key, body: '{}' };
  const later = (millis: number) => () => {
    qrs.now += millis;
    return undefined;
  };
  assert.deepEqual(await askWhile(service, asked, later(3_599_999)), [201, undefined]);
  assert.deepEqual(await askWhile(service, asked, later(1)), [401, 'invalid_api_key']);
  assert.equal((await runs()).length, 1);
});

test('a key whose owner leaves the team in the meantime no longer acts for the team', async (t) => {
  const { service, qrs, keyOf, runs } = await start(t);
  const { key } = await keyOf('--scope', 'write');
  const leave = () => qrs.get('teams', 'remove-member', 'crew', 'ann');
  const asked = { path: '/v1/query/7/results', key, body: 'n\n1\n' };
  assert.deepEqual(await askWhile(service, asked, leave), [403, 'scope']);
  await qrs.get('teams', 'add-member', 'crew', 'ann');
  await qrs.get('queries', 'set', '7', '--private');
  assert.deepEqual(await askWhile(service, asked, leave), [404, 'query_not_found']);
  assert.deepEqual(await runs(), []);
});
