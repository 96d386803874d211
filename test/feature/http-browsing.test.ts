/** Looking around over HTTP (contract §8): the queries that a key may read, what one is, the runs it has had. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HttpService, startHttpService } from './http-service.ts';
import { annWrites, assertRefused, sender } from './http-writer.ts';

const DAY_MILLIS = 86_400_000;

async function listed(service: HttpService, parameters = '', key?: string) {
  const answer = await service.get(`/v1/queries${parameters}`, key === undefined ? {} : { key });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  const { queries, ...rest } = JSON.parse(text);
  return { ids: queries.map(({ query_id }: { query_id: number }) => query_id), queries, ...rest };
}

test('a key is shown the queries that it may read, newest first, and counts no others', async (t) => {
  const service = await startHttpService(t);
  const { commandLine: qrs } = service;
  await qrs.get('users', 'add', 'bob');
  await qrs.get('teams', 'add', 'crew', '--member', 'bob');
  const bob = await qrs.get('keys', 'create', '--user', 'bob');
  const crew = await qrs.get('keys', 'create', '--team', 'crew');
  const admin = await qrs.get('keys', 'create', '--user', 'bob', '--scope', 'admin');
  const queries = [
    [1, '--user', 'ann'],
    [2, '--user', 'ann', '--private'],
    [3, '--user', 'bob', '--private'],
    [4, '--team', 'crew', '--private'],
  ] as const;
  for (const [id, ...words] of queries) {
    qrs.now += 1000;
    await qrs.get('queries', 'add', '--id', String(id), ...words);
  }
  const own = async (key: string | undefined) => {
    const { ids, total } = await listed(service, '', key);
    const curated = ids.filter((id: number) => id >= 990_000_001).length;
    return [ids.filter((id: number) => id < 990_000_001), total - curated];
  };
  assert.deepEqual(await own(undefined), [[2, 1], 2]);
  assert.deepEqual(await own(bob), [[4, 3, 1], 3]);
  assert.deepEqual(await own(crew), [[4, 1], 2]);
  assert.deepEqual(await own(admin), [[4, 3, 2, 1], 4]);
});

test('search finds words of names, descriptions, tags and ids, names first; owner, tag and has_results narrow down', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  const add = (query_id: number, body: object) => send('POST', '/v1/query', { body: { query_id, ...body } });
  await add(11, { name: 'Prices of ETH', tags: ['dex'] });
  await add(12, { name: 'Whales', description: 'Who holds most, at PRICES of today.' });
  await add(13, { name: 'Äpfel 100%_', tags: ['fruit', 'Price list'] });
  assert.deepEqual((await listed(service, '?search=prices')).ids, [11, 12]);
  assert.deepEqual((await listed(service, '?search=price')).ids, [11, 13, 12]);
  assert.deepEqual((await listed(service, '?search=most+whale')).ids, [12]);
  assert.deepEqual((await listed(service, '?search=%C3%84pfel+%25_')).ids, [13]);
  assert.deepEqual((await listed(service, '?search=13')).ids, [13]);
  assert.deepEqual((await listed(service, "?search='%20or%201=1")).ids, []);
  assert.deepEqual((await listed(service, '?tag=dex')).ids, [11]);
  assert.deepEqual((await listed(service, '?tag=de')).ids, []);
  assert.deepEqual((await listed(service, '?owner=ann&limit=2')).ids, [13, 12]);
  await service.publish(12, 'n\n1\n');
  assert.deepEqual((await listed(service, '?owner=ann&has_results=true')).ids, [12]);
  assert.deepEqual((await listed(service, '?owner=ann&has_results=0')).ids, [13, 11]);
  service.commandLine.now += 91 * DAY_MILLIS;
  assert.deepEqual((await listed(service, '?owner=ann&has_results=true')).ids, []);
});

test('search looks at each tag as it was written, not at how the catalog keeps them', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await send('POST', '/v1/query', { body: { query_id: 11, tags: ['Three" pipe', 'back\\slash', 'Äpfel'] } });
  await send('POST', '/v1/query', { body: { query_id: 12, tags: [] } });
  const found = async (text: string) => (await listed(service, `?owner=ann&search=${encodeURIComponent(text)}`)).ids;
  assert.deepEqual(await found('three" PIPE'), [11]);
  assert.deepEqual(await found('k\\s'), [11]);
  assert.deepEqual(await found('Äpfel'), [11]);
  for (const mark of ['"', '[', ',', '[]', '\\\\'])
    assert.deepEqual([mark, await found(mark)], [mark, mark === '"' ? [11] : []]);
});

test('lists come in pages that join up, and next_uri carries what was asked', async (t) => {
  const service = await startHttpService(t);
  for (let id = 1; id <= 5; id += 1) {
    service.commandLine.now += 1000;
    await service.commandLine.get('queries', 'add', '--id', String(id), '--user', 'ann');
  }
  const seen: number[] = [];
  let next: string | undefined = `${service.url}/v1/queries?owner=ann&limit=2&search=`;
  while (next !== undefined) {
    const answer = await fetch(`${next}&api_key=${service.key}`);
    const page = (await answer.json()) as { queries: { query_id: number }[]; total: number; next_uri?: string };
    assert.equal(page.total, 5);
    seen.push(...page.queries.map(({ query_id }) => query_id));
    next = page.next_uri;
    assert.ok(next === undefined || (next.includes('owner=ann') && !next.includes('api_key')), next);
  }
  assert.deepEqual(seen, [5, 4, 3, 2, 1]);
  assert.deepEqual((await listed(service, '?owner=ann&limit=0')).ids, []);
  assert.deepEqual((await listed(service, '?owner=ann&offset=9')).ids, []);
  const send = sender(service, service.key);
  for (const [parameters, error] of [
    ['limit=201', 'limit: found "201", expected a whole number, at most 200'],
    ['offset=-1', 'offset: found "-1", expected a whole number, at most 9007199254740991'],
    ['has_results=maybe', 'has_results: found "maybe", expected true or false'],
  ] as const) {
    assertRefused(await send('GET', `/v1/queries?${parameters}`), 400, 'invalid_parameter', error);
  }
});

test('a query tells of its latest run and its columns; a run that failed since hides neither', async (t) => {
  const service = await startHttpService(t);
  const { id } = await service.publish(7, 'wallet,amount\n0xa,1\n0xb,2\n', { types: { amount: 'uint256' } });
  const latest = {
    execution_id: id,
    state: 'QUERY_STATE_COMPLETED',
    submitted_at: '2024-03-05T20:50:59.123000Z',
    execution_ended_at: '2024-03-05T20:50:59.123000Z',
    expires_at: '2024-06-03T20:50:59.123000Z',
    row_count: 2,
    bytes: 70,
  };
  service.commandLine.now += 1000;
  const failed = await service.commandLine.get('executions', 'submit', '--query', '7');
  await service.commandLine.get('executions', 'fail', failed, '--message', 'no');
  const query = await service.json('/v1/query/7');
  assert.deepEqual(query.latest_execution, latest);
  assert.deepEqual(query.columns, [
    { name: 'wallet', type: 'varchar' },
    { name: 'amount', type: 'uint256' },
  ]);
  const { queries } = await listed(service, '?search=7');
  assert.deepEqual(queries[0].latest_execution, latest);
  service.commandLine.now += 91 * DAY_MILLIS;
  const after = await service.json('/v1/query/7');
  assert.equal((after.latest_execution as { state: string }).state, 'QUERY_STATE_FAILED');
  assert.equal('columns' in after, false);
});

test('the runs of a query: newest first, with sizes, errors and parameters; by state and by time', async (t) => {
  const service = await startHttpService(t);
  const { commandLine: qrs } = service;
  const first = await service.publish(7, 'n\n1\n', { parameters: { chain: 'base' } });
  qrs.now += DAY_MILLIS;
  const failed = await qrs.get('executions', 'submit', '--query', '7');
  await qrs.get('executions', 'fail', failed, '--type', 'engine', '--message', 'no such table');
  qrs.now += DAY_MILLIS;
  const last = await service.publish(7, 'n\n1\n2\n');
  const runs = async (parameters = '') => {
    const { executions, total } = await service.json(`/v1/query/7/executions${parameters}`);
    return { runs: executions as Record<string, unknown>[], total };
  };
  const all = await runs();
  assert.deepEqual(
    all.runs.map(({ execution_id, state, row_count }) => [execution_id, state, row_count]),
    [
      [last.id, 'QUERY_STATE_COMPLETED', 2],
      [failed, 'QUERY_STATE_FAILED', undefined],
      [first.id, 'QUERY_STATE_COMPLETED', 1],
    ],
  );
  assert.deepEqual(all.runs[1]?.error, { type: 'engine', message: 'no such table' });
  assert.deepEqual(all.runs[2]?.query_parameters, { chain: 'base' });
  const ids = async (parameters: string) => (await runs(parameters)).runs.map(({ execution_id }) => execution_id);
  assert.deepEqual(await ids('?state=failed'), [failed]);
  assert.deepEqual(await ids('?state=QUERY_STATE_COMPLETED'), [last.id, first.id]);
  assert.deepEqual(await ids('?from=2024-03-06&to=2024-03-07'), [failed]);
  assert.deepEqual(await ids('?to=2024-03-06T00:00:00Z'), [first.id]);
  assert.deepEqual(await ids('?from=2024-03-07 23:50:59%2b03:00'), [last.id]);
  qrs.now += 89 * DAY_MILLIS;
  assert.deepEqual(await ids('?state=expired'), [first.id]);
  assert.deepEqual(await ids('?state=completed'), [last.id]);
  assert.equal((await runs()).runs[2]?.row_count, undefined);
  const send = sender(service, service.key);
  assertRefused(
    await send('GET', '/v1/query/7/executions?from=yesterday'),
    400,
    'invalid_parameter',
    'from: found "yesterday", expected a time such as 2024-03-05 or 2024-03-05T20:50:59Z',
  );
  assertRefused(
    await send('GET', '/v1/query/7/executions?state=done'),
    400,
    'invalid_parameter',
    /expected one of QUERY/,
  );
});

test('runs of SQL that is no query’s are in no list, unless asked for', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await send('POST', '/v1/query', { body: { query_id: 5, tags: ['sql-execute'], is_private: true } });
  assert.deepEqual((await listed(service, '?owner=ann')).ids, []);
  assert.deepEqual((await listed(service, '?owner=ann&tag=sql-execute')).ids, [5]);
});
