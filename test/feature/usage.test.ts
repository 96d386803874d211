/** Usage is counted by key, day and query. The caller and the operator can see it, and it is not lost when the service stops. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import diagnostics from 'node:diagnostics_channel';
import { request } from 'node:http';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { sleep } from '../real-time.ts';
import { openAnswer, rawRequest } from './http-client.ts';
import { startHttpService } from './http-service.ts';

const CSV = 'n,w\n1,x\n2,y\n';
/** Only the stop at the end writes usage. */
const NEVER = { QRS_USAGE_INTERVAL: '3600' };

test('requests, datapoints and the bytes that were sent, by key, day and query', async (t) => {
  const service = await startHttpService(t, NEVER);
  await service.publish(7, CSV);
  const answers = [
    await service.get('/v1/query/7/results', { headers: { 'accept-encoding': 'identity' } }),
    await service.get('/v1/query/7/results/csv?limit=1', { headers: { 'accept-encoding': 'identity' } }),
    await service.get('/v1/query/8/results'),
  ];
  const bytes: number[] = [];
  for (const answer of answers) bytes.push((await answer.arrayBuffer()).byteLength);
  const [json = 0, csv = 0, missing = 0] = bytes;
  service.commandLine.now += 86_400_000;
  await (await service.get('/v1/query/7/results', { method: 'HEAD' })).text();
  await service.stop();
  await service.close();
  const used = await service.commandLine.get('usage', '--by', 'day,query', '--json');
  assert.deepEqual(JSON.parse(used), [
    { day: '2024-03-05', requests: 1, datapoints: 0, bytes: missing },
    { day: '2024-03-05', query_id: 7, requests: 2, datapoints: 6, bytes: json + csv },
    { day: '2024-03-06', query_id: 7, requests: 1, datapoints: 0, bytes: 0 },
  ]);
});

test('a streamed answer counts what was sent, compressed as it was', async (t) => {
  const service = await startHttpService(t, { ...NEVER, QRS_MAX_DATAPOINTS: '1000000' });
  const rows = Array.from({ length: 60_000 }, (_, index) => index).join('\n');
  await service.publish(7, `n\n${rows}\n`);
  const headers = { 'x-service-api-key': service.key, 'accept-encoding': 'gzip' };
  const chunks: Buffer[] = [];
  for await (const chunk of await openAnswer(service.url, '/v1/query/7/results/csv', headers)) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  assert.equal(gunzipSync(body).toString(), `n\n${rows}\n`);
  await service.close();
  assert.deepEqual(JSON.parse(await service.commandLine.get('usage', '--by', 'query', '--json')), [
    { query_id: 7, requests: 1, datapoints: 60_000, bytes: body.byteLength },
  ]);
});

test('an answer that is refused after its rows were found counts none of them', async (t) => {
  const service = await startHttpService(t, NEVER);
  await service.publish(7, CSV);
  const bytes: number[] = [];
  for (const format of ['csv', 'csv', 'parquet', 'parquet']) {
    const answer = await service.get(`/v1/query/7/results?format=${format}`, { headers: { range: 'bytes=99999-' } });
    assert.equal(answer.status, 416);
    bytes.push((await answer.arrayBuffer()).byteLength);
  }
  await service.close();
  assert.deepEqual(JSON.parse(await service.commandLine.get('usage', '--by', 'query', '--json')), [
    { query_id: 7, requests: 4, datapoints: 0, bytes: bytes.reduce((sum, each) => sum + each, 0) },
  ]);
});

/** 9 MB of CSV: letters at random, of which no format makes much less. */
const LONG = `w\n${randomBytes(6_750_000)
  .toString('base64url')
  .replace(/.{10000}/g, '$&\n')}`;

for (const [what, path] of [
  ['an answer out of memory', '/v1/query/7/results/csv?limit=900'],
  ['a Parquet file', '/v1/query/7/results?format=parquet'],
] as const) {
  test(`a client that leaves in the middle of ${what} counts what was sent of it`, async (t) => {
    const service = await startHttpService(t, NEVER);
    await service.publish(7, LONG);
    const headers = { 'x-service-api-key': service.key, 'accept-encoding': 'identity' };
    const answers = () => service.observed.flatMap((seen) => (seen.kind === 'answered' ? [seen.stats] : []));
    // A page is sent as it was read, then kept and sent again.
    for (const range of ['', '', 'bytes=1-'].map((asked) => (asked === '' ? {} : { range: asked }))) {
      const before = answers().length;
      // More than the system takes for a client that reads nothing.
      const answer = await openAnswer(service.url, path, { ...headers, ...range });
      answer.destroy();
      while (answers().length === before) await sleep(10, t.signal);
      const { bodyBytes = 0, datapoints = 0 } = answers().at(-1) ?? {};
      const bytes = Number(answer.headers['content-length']);
      // Mostly 4 to 6 MB of 9. The longer this process is held up, the more of it the system takes.
      assert(bytes > 6_700_000 && bodyBytes > 0 && bodyBytes < bytes, `${bodyBytes} of ${bytes}`);
      // A chunk of a file that was being read is counted as sent after the answer was told of.
      assert(datapoints > 0 && datapoints <= Math.ceil((90_000 * bodyBytes) / bytes), `${datapoints}`);
    }
  });
}

test('a client that leaves while its answer is compressed counts nothing', async (t) => {
  const service = await startHttpService(t, NEVER);
  await service.publish(7, LONG);
  const path = '/v1/query/7/results/csv?limit=900';
  const headers = { 'x-service-api-key': service.key };
  const answers = () => service.observed.flatMap((seen) => (seen.kind === 'answered' ? [seen] : []));
  // It is kept then, so that nothing is left to do but to compress it.
  for (const _ of [1, 2]) await rawRequest(service.url, path, { ...headers, 'accept-encoding': 'identity' });
  const leaving = request(service.url + path, { headers: { ...headers, 'accept-encoding': 'gzip' }, agent: false });
  leaving.on('error', () => undefined);
  const onBegin = () => leaving.destroy();
  diagnostics.subscribe('http.server.request.start', onBegin);
  t.after(() => diagnostics.unsubscribe('http.server.request.start', onBegin));
  leaving.end();
  while (answers().length < 3) await sleep(10, t.signal);
  const { status, stats } = answers().at(-1) ?? {};
  assert.deepEqual([status, stats?.cache, stats?.datapoints, stats?.bodyBytes], [499, 'hit', 0, 0]);
});

test('the caller sees its key and its owner, and nobody else', async (t) => {
  const service = await startHttpService(t, NEVER);
  const { get } = service.commandLine;
  await get('users', 'add', 'bob');
  await get('keys', 'create', '--user', 'bob');
  const [ann = '', bob = ''] = (await get('keys', 'list')).split('\n');
  const catalog = await service.catalog();
  await catalog.usage.add([
    { day: '2024-03-05', keyId: ann, queryId: 7, requests: 2, datapoints: 20, bytes: 200 },
    { day: '2024-02-01', keyId: ann, queryId: 7, requests: 9, datapoints: 9, bytes: 9 },
    { day: '2024-03-05', keyId: bob, queryId: 7, requests: 5, datapoints: 50, bytes: 500 },
  ]);
  const counts = { requests: 2, datapoints: 20, bytes: 200 };
  for (const prefix of ['/v1', '/api/v1']) {
    assert.deepEqual(await service.json(`${prefix}/usage`), {
      from: '2024-02-05',
      to: '2024-03-05',
      key: { id: ann, ...counts },
      owner: { user: 'ann', ...counts },
      days: [{ day: '2024-03-05', ...counts }],
      queries: [{ query_id: 7, ...counts }],
    });
  }
  const all = (await service.json('/v1/usage?from=2024-01-01&to=2024-03-05')) as { key: { requests: number } };
  assert.equal(all.key.requests, 11);
});

test('invalid days are refused', async (t) => {
  const service = await startHttpService(t, NEVER);
  for (const [parameters, error] of [
    ['from=5.3.2024', 'from: found "5.3.2024", expected a day such as 2024-03-05'],
    ['to=2024-02-30', 'to: found "2024-02-30", expected a day such as 2024-03-05'],
    ['from=2024-03-06', 'from: found "2024-03-06", expected a day not after 2024-03-05'],
    ['from=2020-01-01', 'from: found "2020-01-01", expected at most 366 days'],
  ]) {
    const answer = await rawRequest(service.url, `/v1/usage?${parameters}`, { 'x-service-api-key': service.key });
    assert.deepEqual([answer.status, JSON.parse(answer.body)], [400, { error }]);
  }
  assert.equal((await service.get('/v1/usage', { key: '' })).status, 401);
});

test('the operator can group usage; lines for scripts, a table for people', async (t) => {
  const service = await startHttpService(t, NEVER);
  const { run, get } = service.commandLine;
  const key = await get('keys', 'list');
  const catalog = await service.catalog();
  await catalog.usage.add([{ day: '2024-03-05', keyId: key, queryId: 7, requests: 2, datapoints: 20, bytes: 2000 }]);
  assert.equal(await get('usage'), `2024-03-05\t${key}\t2\t20\t2000`);
  assert.equal(await get('usage', '--by', 'user', '--from', '2024-03-05', '--to', '2024-03-05'), 'ann\t2\t20\t2000');
  assert.equal(await get('usage', '--by', 'team'), '');
  assert.equal(await get('usage', '--query', '8'), '');
  const { id } = JSON.parse(await get('keys', 'create', '--user', 'ann', '--name', 'her notebook', '--json'));
  await get('queries', 'add', '--id', '7', '--user', 'ann', '--name', 'Trades by day');
  await catalog.usage.add([{ day: '2024-03-06', keyId: id, queryId: 7, requests: 1, datapoints: 5, bytes: 1234 }]);
  assert.deepEqual(
    (await service.commandLine.onTerminal('usage', '--by', 'day,query,key', '--key', id)).out.split('\n'),
    [
      'day         query_id  query_name     key_id            key_name      requests  datapoints  bytes',
      `2024-03-06  7         Trades by day  ${id}  her notebook         1           5  1,234`,
      'total                                                                       1           5  1,234',
      '',
    ],
  );
  assert.match((await service.commandLine.onTerminal('usage')).out, /\ntotal +3 +25 +3,234\n$/);
  assert.deepEqual(JSON.parse(await get('usage', '--by', 'key', '--key', id, '--json')), [
    { key_id: id, key_name: 'her notebook', requests: 1, datapoints: 5, bytes: 1234 },
  ]);
  assert.equal((await run(['usage', '--by', 'hour'])).code, 2);
  assert.equal((await run(['usage', '--by', 'user,team'])).code, 2);
  assert.equal((await run(['usage', '--from', '2024-03-06', '--to', '2024-03-05'])).code, 2);
  assert.equal((await run(['usage', '--from', 'yesterday'])).code, 2);
});
