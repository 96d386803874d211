/** Contract §9: queries over HTTP, and administration. Contract §8: what a query shows of itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startHttpService } from './http-service.ts';
import { annWrites, assertRefused, sender } from './http-writer.ts';
import { requestProblems } from './openapi-validator.ts';

const CREATED_AT = '2024-03-05T20:50:59.123000Z';

const WHOLE = {
  name: 'Prices',
  description: 'Of each chain.',
  tags: ['dex', 'daily'],
  query_sql: 'select 1 as n where {{chain}} <> {{n}}::varchar',
  parameters: [
    { key: 'chain', type: 'enum', value: 'base', enumOptions: ['base', 'eth'] },
    { key: 'n', type: 'number', value: '5' },
  ],
  schedule: '*/15 * * * *',
  is_private: true,
};

test('null takes away what a query has, as /openapi.json says', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  const parameters = [{ key: 'k', type: 'text' }];
  const about = { name: 'Prices', description: 'Of each chain.', tags: ['a'], parameters };
  await send('POST', '/v1/query', { body: { ...about, column_descriptions: { c: 'what it is' } } });
  const body = { name: null, description: null, tags: null, parameters: null, column_descriptions: null };
  const document = await service.json('/openapi.json');
  const all = { ...body, query_sql: null, query_parameters: null, schedule: null };
  assert.deepEqual(requestProblems(document, 'QueryChanges', all), []);
  assert.equal((await send('PATCH', '/v1/query/1', { body })).status, 200);
  const { name, description, tags, parameters: left, column_descriptions } = (await send('GET', '/v1/query/1')).json;
  assert.deepEqual([name, description, tags, left, column_descriptions], ['', '', [], [], undefined]);
  await send('PATCH', '/v1/query/1', { body: { query_parameters: { k: '5' } } });
  await send('PATCH', '/v1/query/1', { body: { query_parameters: null } });
  assert.deepEqual((await send('GET', '/v1/query/1')).json.parameters, []);
});

test('parameters without a type, with numbers for values, or by name alone are taken, as /openapi.json says', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  const document = await service.json('/openapi.json');
  const floor = { key: 'floor', type: 'number', value: '2.5' };
  const taken = [
    [{ parameters: [{ key: 'chain' }, { ...floor, value: 2.5 }] }, [{ key: 'chain', type: 'text' }, floor]],
    [{ query_parameters: [{ key: 'k', value: 'v' }] }, [{ key: 'k', type: 'text', value: 'v' }]],
    [{ query_parameters: { floor: 2.5, whole: true } }, [floor, { key: 'whole', type: 'text', value: 'true' }]],
  ] as const;
  for (const [index, [body, kept]] of taken.entries()) {
    assert.deepEqual(requestProblems(document, 'NewQuery', body), []);
    assert.equal((await send('POST', '/v1/query', { body })).status, 201);
    assert.deepEqual((await send('GET', `/v1/query/${index + 1}`)).json.parameters, kept);
  }
  // Neither the document nor the service knows these.
  for (const parameter of [
    { type: 'text' },
    { key: 'k', type: 'date' },
    { key: 'k', value: true },
    { key: 'k', of: 1 },
  ]) {
    assert.notDeepEqual(requestProblems(document, 'NewQuery', { parameters: [parameter] }), []);
    assert.equal((await send('POST', '/v1/query', { body: { parameters: [parameter] } })).status, 400);
  }
});

test('a query is added, read by all who may see it, and changed only in what is named', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  const added = await send('POST', '/v1/query', { body: WHOLE });
  assert.deepEqual([added.status, added.text], [201, '{"query_id":1}']);
  const seen = {
    query_id: 1,
    name: 'Prices',
    description: 'Of each chain.',
    tags: ['dex', 'daily'],
    version: 1,
    owner: 'ann',
    parameters: WHOLE.parameters,
    query_engine: 'duckdb',
    query_sql: WHOLE.query_sql,
    schedule: '*/15 * * * *',
    is_private: true,
    is_archived: false,
    is_unsaved: false,
    created_at: CREATED_AT,
    updated_at: CREATED_AT,
  };
  assert.deepEqual((await send('GET', '/v1/query/1')).json, seen);
  service.commandLine.now += 1000;
  const changed = await send('PATCH', '/v1/query/1', { body: { name: 'Prices by chain', schedule: null, tags: [] } });
  assert.deepEqual([changed.status, changed.text], [200, '{"query_id":1}']);
  const { schedule: _, ...rest } = seen;
  const after = { ...rest, name: 'Prices by chain', tags: [], version: 2, updated_at: '2024-03-05T20:51:00.123000Z' };
  assert.deepEqual((await send('GET', '/v1/query/1')).json, after);
  const steps = [
    ['unprivate', { is_private: false }],
    ['archive', { is_archived: true }],
    ['unarchive', { is_archived: false }],
    ['private', { is_private: true }],
  ] as const;
  for (const [step, expected] of steps) {
    const answer = await send('POST', `/api/v1/query/1/${step}/`);
    assert.deepEqual([answer.status, answer.text], [200, '{"query_id":1}']);
    const now = (await send('GET', '/v1/query/1')).json;
    assert.deepEqual({ ...now, ...expected }, now, step);
  }
});

test("only the owner sees the SQL; a missing text is '', since clients expect every field", async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await send('POST', '/v1/query', { body: { query_sql: 'select 1 as n', query_id: 77 } });
  await service.commandLine.get('users', 'add', 'bob');
  const bob = await service.commandLine.get('keys', 'create', '--user', 'bob');
  const { query_sql: mine, ...query } = (await send('GET', '/v1/query/77')).json;
  assert.equal(mine, 'select 1 as n');
  assert.deepEqual([query.name, query.description, query.tags, query.parameters], ['', '', [], []]);
  assert.deepEqual((await send('GET', '/v1/query/77', { key: bob })).json, query);
  await send('POST', '/v1/query/77/private');
  assertRefused(
    await send('GET', '/v1/query/77', { key: bob }),
    404,
    'query_not_found',
    'not found: Query not found or private',
  );
});

test('a query says which engine would run it', async (t) => {
  const service = await startHttpService(t, { QRS_ENGINE_URL: 'trino://ann@127.0.0.1:1/lake' });
  await service.publish(7, 'n\n1\n');
  const { queries } = (await service.json('/v1/queries?owner=ann')) as { queries: readonly Record<string, unknown>[] };
  assert.deepEqual(
    queries.map(({ query_id, query_engine }) => [query_id, query_engine]),
    [[7, 'trino']],
  );
  assert.equal((await service.json('/v1/query/7')).query_engine, 'trino');
});

test('an error in a body names the field, what was found, and what was expected', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  const nestedBy = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  const nested = nestedBy(40);
  const refusals: readonly (readonly [object | string, string | RegExp])[] = [
    [{ nam: 'x' }, 'nam: no such field; did you mean name?'],
    [{ name: 5 }, 'name: found 5, expected a text of 0 to 200 characters'],
    [{ name: 'x'.repeat(201) }, /^name: found "x{59}…, expected a text of 0 to 200 characters$/],
    [{ name: 'a\0' }, 'name: found "a\\u0000", expected a text without NUL characters'],
    [{ tags: ['a', 5] }, 'tags[1]: found 5, expected a text of 1 to 100 characters'],
    [{ tags: 'a' }, 'tags: found "a", expected a list of at most 50'],
    [{ is_private: 'yes' }, 'is_private: found "yes", expected true or false'],
    [
      { parameters: [{ key: 'a', type: 'date' }] },
      /^parameters\[0\]\.type: found "date", expected one of text, number/,
    ],
    [{ parameters: [{ key: 'a', typ: 'text' }] }, 'parameters[0].typ: no such field; did you mean type?'],
    [{ parameters: [{ type: 'text' }] }, 'parameters[0].key: missing, and it must be there'],
    [{ parameters: [{ key: 'a' }, { key: 'a' }] }, 'parameters: "a" is there twice'],
    [{ schedule: 'hourly' }, /^schedule: /],
    [{ query_id: 990_000_001 }, /^query_id: found 990000001, expected an id below 990000001: those from there on are/],
    [{ query_id: 1.5 }, /^query_id: found 1\.5, expected a whole number/],
    [['a'], 'the body: found a list of 1, expected a JSON object'],
    [`{"name":${nestedBy(100_000)}}`, 'the body is nested more than 50 deep'],
    [{ tags: new Array(10_000).fill('a') }, 'the body has more than 10000 values'],
    [`{"name":${nested}}`, 'name: found a list of 1, expected a text of 0 to 200 characters'],
    [`{"tags":[{"a":${nested}}]}`, 'tags[0]: found an object, expected a text of 1 to 100 characters'],
    ['{"query_parameters":{"p":null}}', 'query_parameters: the parameter "p" is no text: its value is null'],
    [`{"query_parameters":{"p":${nested}}}`, 'query_parameters: the parameter "p" is no text: its value is a list'],
    ['{"query_parameters":{"p":{"toString":1}}}', /^query_parameters: the parameter "p" is no text/],
    ['{"name":', /^the body is no JSON: /],
    ['{"name":"\u0000"}', /^the body is no JSON: /],
    ['{"__proto__":1}', /^__proto__: no such field; expected name, /],
  ];
  for (const [body, error] of refusals) {
    assertRefused(await send('POST', '/v1/query', { body }), 400, 'invalid_body', error);
  }
  const packed = { body: gzipSync('{"name":"x"}'), headers: { 'content-encoding': 'gzip' } };
  const asItIs = 'Content-Encoding: found "gzip", expected none: JSON is sent as it is';
  assertRefused(await send('POST', '/v1/query', packed), 415, 'unsupported_media_type', asItIs);
  const asIs = { body: '{"name":5}', headers: { 'content-encoding': 'identity' } };
  assertRefused(await send('POST', '/v1/query', asIs), 400, 'invalid_body', /^name: found 5/);
  assertRefused(
    await send('POST', '/v1/query', { body: `{"name":"${'x'.repeat(1_000_000)}"}` }),
    413,
    'body_too_large',
    'the body has more than 1000000 bytes, which is the most',
  );
  assert.deepEqual(
    await (await service.catalog()).queries.list().then((all) => all.filter(({ id }) => id < 990_000_001)),
    [],
  );
});

test('a schedule that could not run the query is refused, and nothing has changed', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  const schedule = '* * * * *';
  const bare = { query_sql: 'select {{n}} as n', parameters: [{ key: 'n', type: 'number' }] };
  const noSql = 'a schedule needs SQL: results of a query without are published by whoever runs it';
  const noValue = 'a schedule names no values: give parameter n one of its own';
  assertRefused(await send('POST', '/v1/query', { body: { schedule } }), 400, 'invalid_query', noSql);
  assertRefused(await send('POST', '/v1/query', { body: { ...bare, schedule } }), 400, 'invalid_query', noValue);
  assert.equal((await send('POST', '/v1/query', { body: bare })).text, '{"query_id":1}');
  assertRefused(await send('PATCH', '/v1/query/1', { body: { schedule } }), 400, 'invalid_query', noValue);
  assert.equal((await send('GET', '/v1/query/1')).json.version, 1);
});

test('parameters are what they say, also of a query without SQL', async (t) => {
  const { send } = await annWrites(await startHttpService(t));
  const parameters = [{ key: 'n', type: 'number', value: 'abc' }];
  const noNumber = 'parameter n is a number, as 12, -0.5 or 1e9: found "abc"';
  assertRefused(await send('POST', '/v1/query', { body: { parameters } }), 400, 'invalid_query', noNumber);
  await send('POST', '/v1/query', { body: { query_id: 1 } });
  assertRefused(await send('PATCH', '/v1/query/1', { body: { parameters } }), 400, 'invalid_query', noNumber);
  const noOptions = 'parameter e is an enum: give its values as enumOptions';
  const bare = { parameters: [{ key: 'e', type: 'enum' }] };
  assertRefused(await send('PATCH', '/v1/query/1', { body: bare }), 400, 'invalid_query', noOptions);
  const whole = [{ key: 'n', type: 'number', value: '12' }];
  assert.equal((await send('PATCH', '/v1/query/1', { body: { parameters: whole } })).status, 200);
});

test('a taken id is refused, and the id of a removed query is not chosen again', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await send('POST', '/v1/query', { body: { query_id: 2 } });
  assertRefused(
    await send('POST', '/v1/query', { body: { query_id: 2 } }),
    409,
    'conflict',
    'there is a query 2 already',
  );
  assert.equal((await send('POST', '/v1/query')).text, '{"query_id":1}');
  assert.equal((await send('POST', '/v1/query')).text, '{"query_id":3}');
  await service.commandLine.get('queries', 'remove', '3');
  assert.equal((await send('POST', '/v1/query')).text, '{"query_id":4}');
});

test('an admin key administers users, teams and keys', async (t) => {
  const service = await startHttpService(t);
  const admin = await service.commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'admin');
  const send = sender(service, admin);
  assert.deepEqual((await send('POST', '/v1/users', { body: { name: 'bob' } })).json, {
    name: 'bob',
    created_at: CREATED_AT,
  });
  assertRefused(
    await send('POST', '/v1/users', { body: { name: 'bob' } }),
    409,
    'conflict',
    'there is a user "bob" already',
  );
  assertRefused(await send('POST', '/v1/users', { body: { name: 'b b' } }), 400, 'invalid_body', /^name: found "b b"/);
  assertRefused(await send('POST', '/v1/users'), 400, 'invalid_body', 'name: missing, and it must be there');
  const team = { name: 'crew', members: ['ann'], created_at: CREATED_AT };
  assert.deepEqual((await send('POST', '/v1/teams', { body: { name: 'crew', members: ['ann'] } })).json, team);
  assert.deepEqual((await send('PUT', '/v1/teams/crew/members/bob')).json, { success: true, changed: true });
  assert.deepEqual((await send('PUT', '/v1/teams/crew/members/bob')).json, { success: true, changed: false });
  const lists = { teams: [{ ...team, members: ['ann', 'bob'] }], total: 1 };
  assert.deepEqual(((await send('GET', '/v1/teams?offset=1')).json.teams as unknown[]).length, 1);
  assert.deepEqual(
    ((await send('GET', '/v1/teams')).json.teams as { readonly name: string }[]).filter(({ name }) => name === 'crew'),
    lists.teams,
  );
  const made = await send('POST', '/v1/keys', {
    body: { team: 'crew', scope: 'write', name: 'loader', expires_in: 3600 },
  });
  assert.equal(made.status, 201);
  const { id, key, ...terms } = made.json;
  assert.deepEqual(terms, {
    team: 'crew',
    name: 'loader',
    scope: 'write',
    expires_at: '2024-03-05T21:50:59.123000Z',
    created_at: CREATED_AT,
  });
  const loader = String(key);
  assert.equal((await send('POST', '/v1/query', { key: loader })).status, 201);
  const keys = (await send('GET', '/v1/keys')).json.keys as readonly Record<string, unknown>[];
  assert.deepEqual(
    keys.find((listed) => listed.id === id),
    { id, ...terms },
  );
  assert.ok(!JSON.stringify(keys).includes(loader));
  assert.deepEqual((await send('DELETE', `/v1/keys/${id}`)).json, { success: true });
  assert.equal((await send('POST', '/v1/query', { key: loader })).status, 401);
  assertRefused(
    await send('POST', '/v1/keys', { body: {} }),
    400,
    'invalid_body',
    'user, team: expected one of the two',
  );
  assertRefused(
    await send('POST', '/v1/keys', { body: { team: 'crew', expires_in: '90d' } }),
    400,
    'invalid_body',
    'expires_in: found "90d", expected a whole number of seconds from 1 to 3153600000',
  );
  assert.deepEqual((await send('DELETE', '/v1/teams/crew/members/bob')).json, { success: true, changed: true });
  assert.deepEqual((await send('DELETE', '/v1/users/bob')).json, { success: true });
  assertRefused(await send('DELETE', '/v1/users/bob'), 409, 'conflict', 'there is no user "bob"');
});

test('lists of principals are paged', async (t) => {
  const service = await startHttpService(t);
  const admin = await service.commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'admin');
  const send = sender(service, admin);
  for (const name of ['bob', 'cy']) await send('POST', '/v1/users', { body: { name } });
  const first = (await send('GET', '/v1/users?limit=2')).json;
  assert.deepEqual(
    [first.total, first.next_offset, first.next_uri],
    [3, 2, `${service.url}/v1/users?limit=2&offset=2`],
  );
  const second = (await send('GET', '/v1/users?limit=2&offset=2')).json;
  assert.deepEqual(second, { users: [{ name: 'cy', created_at: CREATED_AT }], total: 3 });
  assertRefused(
    await send('GET', '/v1/users?limit=ten'),
    400,
    'invalid_parameter',
    'limit: found "ten", expected a whole number, at most 10000',
  );
});

test('methods that an address does not have are 404', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  await service.publish(7, 'n\n1\n');
  for (const [method, path] of [
    ['GET', '/v1/query'],
    ['POST', '/v1/query/7'],
    ['DELETE', '/v1/query/7'],
    ['GET', '/v1/query/7/archive'],
    ['PUT', '/v1/query/7/results'],
    ['POST', '/v1/query/7/results/csv'],
    ['PUT', '/v1/users'],
  ] as const) {
    assertRefused(await send(method, path), 404, 'route_not_found', `not found: ${method} ${path}`);
  }
});

test('two who change a query at the same moment leave one that could run: the second is checked against what the first has made of it', async (t) => {
  const service = await startHttpService(t);
  const { send } = await annWrites(service);
  const parameters = [{ key: 'p', type: 'text', value: 'x' }];
  const body = { query_sql: 'select 1 as a', parameters };
  const pairs = [
    [{ query_sql: 'select {{p}} as b' }, { parameters: [] }],
    [{ query_sql: null }, { schedule: '0 0 1 1 *' }],
  ];
  for (const pair of pairs) {
    const { query_id: id } = (await send('POST', '/v1/query', { body })).json;
    const changed = await Promise.all(pair.map((one) => send('PATCH', `/v1/query/${id}`, { body: one })));
    assert.deepEqual(changed.map(({ status }) => status).sort(), [200, 400]);
  }
});
