/** Keys over HTTP: where they may be sent, when they expire, and when they were last used. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttpService } from './http-service.ts';

const UNAUTHORIZED = [401, '{"error":"invalid API Key"}'];

test('Authorization: Bearer takes a key like the key headers; key headers come first, the parameter last', async (t) => {
  const service = await startHttpService(t);
  await service.publish(7, 'n\n1\n');
  const { key } = service;
  const status = async (headers: Readonly<Record<string, string>>, query = '') =>
    (await service.get(`/v1/query/7/results${query}`, { key: '', headers })).status;
  assert.equal(await status({ authorization: `Bearer ${key}` }), 200);
  assert.equal(await status({ authorization: `bearer   ${key} ` }), 200);
  assert.equal(await status({ authorization: key }), 401);
  assert.equal(await status({ authorization: `Basic ${key}` }), 401);
  assert.equal(await status({ authorization: 'Bearer ' }), 401);
  assert.equal(await status({ authorization: 'Bearer wrong', 'x-service-api-key': key }), 200);
  assert.equal(await status({ authorization: `Bearer ${key}`, 'x-service-api-key': 'wrong' }), 401);
  assert.equal(await status({ authorization: `Bearer ${key}` }, '?api_key=wrong'), 200);
  assert.equal(await status({ authorization: 'Basic YW5uOg==' }, `?api_key=${key}`), 200);
});

test('an answer says that it is for its key alone, so that no cache gives it to the next key', async (t) => {
  const service = await startHttpService(t, { QRS_KEY_HEADERS: 'X-Their-Key' });
  const { id } = await service.publish(7, 'n\n1\n');
  const vary = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
    (await service.get(path, { headers })).headers.get('vary');
  const ofKey = 'accept, accept-encoding, authorization, x-service-api-key, x-their-key';
  for (const path of ['results', 'results/csv', 'status', 'statistics', 'results?format=parquet']) {
    assert.equal(await vary(`/v1/execution/${id}/${path}`), ofKey, path);
  }
  assert.equal(await vary(`/v1/execution/${id}/results`, { 'if-none-match': '*' }), ofKey);
  assert.equal(await vary('/openapi.json'), 'accept, accept-encoding');
});

test('an expired key is nobody’s from that instant, also for answers from memory', async (t) => {
  const service = await startHttpService(t);
  const { commandLine: qrs } = service;
  await service.publish(7, 'n\n1\n');
  const key = await qrs.get('keys', 'create', '--user', 'ann', '--expires', '1h');
  const ask = async () => {
    const response = await service.get('/v1/query/7/results', { key });
    return [response.status, await response.text()];
  };
  // The first is read, later ones are found by their address, then answered before the router.
  for (let time = 0; time < 4; time += 1) assert.equal((await ask())[0], 200);
  qrs.now += 3_600_000 - 1;
  assert.equal((await ask())[0], 200);
  qrs.now += 1;
  for (let time = 0; time < 3; time += 1) assert.deepEqual(await ask(), UNAUTHORIZED);
  assert.equal((await service.get('/v1/query/7/results')).status, 200);
});

test('the last use of a key is listed, also when its answers come from memory', async (t) => {
  const service = await startHttpService(t, { QRS_USAGE_INTERVAL: '3600' });
  const { commandLine: qrs } = service;
  await service.publish(7, 'n\n1\n');
  await qrs.get('keys', 'create', '--user', 'ann', '--name', 'idle');
  for (let time = 0; time < 4; time += 1) {
    qrs.now += 1000;
    await (await service.get('/v1/query/7/results')).text();
  }
  await service.close();
  const keys: readonly { readonly last_used_at?: string }[] = JSON.parse(await qrs.get('keys', 'list', '--json'));
  assert.deepEqual(
    keys.map((key) => key.last_used_at),
    ['2024-03-05T20:51:03.123000Z', undefined],
  );
});
