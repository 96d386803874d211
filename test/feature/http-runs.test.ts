/** Running queries over HTTP: execute, poll, cancel, read (contract §10). */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type RunningService, startRunningService } from './running-service.ts';

const ORDERS = { 'shop/orders.csv': 'id,chain,amount\n1,base,5\n2,base,7\n3,celo,11\n' };
const BY_CHAIN = {
  name: 'By chain',
  query_sql:
    'SELECT chain, sum(amount::INT)::BIGINT AS total\nFROM shop.orders\nWHERE chain = {{Chain}} GROUP BY chain',
  parameters: [{ key: 'Chain', type: 'text', value: 'base' }],
};
/** Ends only when it is stopped. */
const ENDLESS =
  'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) AS n FROM t WHERE n < 0';

async function start(t: TestContext, environment: Readonly<Record<string, string>> = {}): Promise<RunningService> {
  return await startRunningService(t, ORDERS, environment);
}

async function addQuery(service: RunningService, query: object = BY_CHAIN): Promise<number> {
  const { status, body } = await service.send('POST', '/v1/query', query);
  assert.deepEqual([status, typeof body.query_id], [201, 'number'], JSON.stringify(body));
  return body.query_id as number;
}

async function execute(service: RunningService, id: number, body: object = {}): Promise<string> {
  const { status, body: answer } = await service.send('POST', `/v1/query/${id}/execute`, body);
  assert.deepEqual([status, answer.state], [200, 'QUERY_STATE_PENDING'], JSON.stringify(answer));
  return String(answer.execution_id);
}

const status = async (service: RunningService, id: string) =>
  (await service.send('GET', `/v1/execution/${id}/status`)).body;

test('a run waits in the queue, is carried out, and is read like every other', async (t) => {
  const service = await start(t);
  const id = await addQuery(service);
  const first = await execute(service, id);
  const second = await execute(service, id, { query_parameters: { Chain: 'celo' }, performance: 'medium' });
  const waiting = [await status(service, first), await status(service, second)];
  assert.deepEqual(
    waiting.map(({ state, queue_position }) => [state, queue_position]),
    [
      ['QUERY_STATE_PENDING', 1],
      ['QUERY_STATE_PENDING', 2],
    ],
  );
  const done = service.next('completed').then(() => service.next('completed'));
  service.startRunner();
  await done;
  const { body } = await service.send('GET', `/v1/execution/${second}/results`);
  assert.deepEqual((body.result as { readonly rows: unknown }).rows, [{ chain: 'celo', total: 11 }]);
  assert.equal((await status(service, first)).state, 'QUERY_STATE_COMPLETED');
  const latest = await service.send('GET', `/v1/query/${id}/results?params.Chain=base`);
  assert.deepEqual((latest.body.result as { readonly rows: unknown }).rows, [{ chain: 'base', total: 12 }]);
  assert.deepEqual(service.faults, []);
});

test('a run is found by the values that its caller named, spelled as they were, or as a result was published with them', async (t) => {
  const service = await start(t);
  const id = await addQuery(service, {
    query_sql: 'SELECT {{day}}::DATE AS day',
    parameters: [{ key: 'day', type: 'datetime' }],
  });
  const given = '2024-03-05T10:00Z';
  const run = await execute(service, id, { query_parameters: { day: given } });
  const done = service.next('completed');
  service.startRunner();
  await done;
  const read = async (day: string, more = '') => {
    const { body } = await service.send('GET', `/v1/query/${id}/results?params.day=${encodeURIComponent(day)}${more}`);
    return body.execution_id;
  };
  const ended = String((await status(service, run)).execution_ended_at);
  assert.equal(await read(given), run);
  assert.equal(await read(given, `&as_of=${ended}`), run);
  assert.equal(await read('2024-03-05 10:00:00+00:00'), run);
  assert.equal(await read('2024-03-06'), undefined);
  const early = await service.send(
    'GET',
    `/v1/query/${id}/results?params.day=${encodeURIComponent(given)}&as_of=2001-01-01`,
  );
  assert.match(String(early.body.error), new RegExp(`those that have one ended at ${ended} \\(${run}\\)\\.`));
  const begun = await service.send('POST', `/v1/query/${id}/executions`, { query_parameters: { day: given } });
  assert.equal(begun.status, 201);
  assert.equal(await read(given), run, 'what has a result comes first');
});

test('a request that cannot be run is refused, and told why', async (t) => {
  const service = await start(t);
  const id = await addQuery(service);
  const bare = await addQuery(service, { name: 'no SQL' });
  const refused = async (path: string, body: unknown = {}) => {
    const answer = await service.send('POST', path, body);
    return [answer.status, answer.headers.get('x-error-code'), answer.body.error];
  };
  assert.deepEqual(await refused(`/v1/query/${id}/execute`, { query_parameters: { Name: 'x' } }), [
    400,
    'invalid_query_parameter',
    'unknown parameters (Name)',
  ]);
  assert.deepEqual(await refused(`/v1/query/${bare}/execute`), [
    400,
    'query_not_runnable',
    `query ${bare} has no SQL: its results are published by whoever runs it`,
  ]);
  assert.equal((await service.send('POST', `/v1/query/${id}/archive`, {})).status, 200);
  assert.deepEqual((await refused(`/v1/query/${id}/execute`)).slice(0, 2), [400, 'query_not_runnable']);
  assert.equal((await refused('/v1/query/123456/execute'))[0], 404);
  assert.equal((await refused('/v1/sql/execute', { sql: 'SELECT 1' }))[0], 404);
});

test('SQL that cannot be run is refused when the query is added, with line and column', async (t) => {
  const service = await start(t);
  const refused = async (query_sql: string, parameters: readonly object[] = []) => {
    const {
      status: code,
      headers,
      body,
    } = await service.send('POST', '/v1/query', { name: 'x', query_sql, parameters });
    assert.deepEqual([code, headers.get('x-error-code')], [400, 'invalid_query']);
    return body.error;
  };
  const parameter = { key: 'table', type: 'text' };
  assert.equal(
    await refused('SELECT *\nFROM {{table}}', [parameter]),
    'line 2, column 6: no value can stand at {{table}}: a parameter is a value, not a name or a part of the SQL',
  );
  assert.match(
    String(await refused("SELECT * FROM read_text('/etc/passwd')")),
    /^line 1, column 15: a query cannot read from/,
  );
  assert.match(
    String(await refused('SELECT amont FROM shop.orders')),
    /^line 1, column 8: there is no column "amont"; did you mean "amount"\?/,
  );
  assert.match(
    String(await refused('SELECT 1', [{ key: 'n', type: 'number', value: 'x' }])),
    /^parameter n is a number/,
  );
  // Changed SQL is checked, too.
  const id = await addQuery(service);
  const changed = await service.send('PATCH', `/v1/query/${id}`, { query_sql: 'DROP TABLE x' });
  assert.deepEqual([changed.status, changed.body.error], [400, 'a query is one SELECT, and nothing else']);
});

test("who may run what: first the key's scope is checked, then the query's owner", async (t) => {
  const service = await start(t);
  const { commandLine } = service;
  const open = await addQuery(service);
  const hidden = await addQuery(service, { ...BY_CHAIN, is_private: true });
  await commandLine.get('users', 'add', 'bob');
  const reading = await commandLine.get('keys', 'create', '--user', 'ann');
  const stranger = await commandLine.get('keys', 'create', '--user', 'bob', '--scope', 'write');
  const admin = await commandLine.get('keys', 'create', '--user', 'bob', '--scope', 'admin');
  const code = async (id: number, key: string) =>
    (await service.send('POST', `/v1/query/${id}/execute`, {}, { key })).status;
  assert.deepEqual(
    [await code(open, reading), await code(hidden, reading), await code(4711, reading)],
    [403, 403, 403],
  );
  assert.deepEqual([await code(open, stranger), await code(hidden, stranger)], [403, 404]);
  assert.deepEqual([await code(open, admin), await code(hidden, admin)], [200, 200]);
});

test('a run can be cancelled while it waits and while it runs', async (t) => {
  const service = await start(t);
  const id = await addQuery(service, { name: 'endless', query_sql: ENDLESS });
  const waiting = await execute(service, id);
  const cancel = async (execution: string) => {
    const { status: code, body } = await service.send('POST', `/v1/execution/${execution}/cancel`, {});
    return [code, body];
  };
  assert.deepEqual(await cancel(waiting), [200, { success: true }]);
  const running = await execute(service, id);
  const begun = service.next('started');
  service.startRunner();
  await begun;
  assert.equal((await status(service, running)).state, 'QUERY_STATE_EXECUTING');
  const stopped = service.next('cancelled');
  assert.deepEqual(await cancel(running), [200, { success: true }]);
  await stopped;
  for (const execution of [waiting, running]) {
    assert.equal((await status(service, execution)).state, 'QUERY_STATE_CANCELLED');
    assert.equal((await cancel(execution))[0], 409);
  }
});

test('a failed run tells type, message, line and column', async (t) => {
  const service = await start(t);
  const sql = 'SELECT chain,\n  amount::INT / 0 AS n,\n  chain::INT AS broken\nFROM shop.orders';
  const execution = await execute(service, await addQuery(service, { name: 'broken', query_sql: sql }));
  const failed = service.next('failed');
  service.startRunner();
  await failed;
  const { state, error } = await status(service, execution);
  assert.equal(state, 'QUERY_STATE_FAILED');
  const { type, message, metadata } = error as Record<string, unknown>;
  assert.equal(type, 'execution_error');
  assert.match(String(message), /^"base" in "chain" cannot be read as integer$/);
  assert.deepEqual(metadata, { line: 3, column: 8 });
});

test('the same request under the same Idempotency-Key is the same run', async (t) => {
  const service = await start(t);
  const id = await addQuery(service);
  const ask = async (body: object) =>
    await service.send('POST', `/v1/query/${id}/execute`, body, { headers: { 'idempotency-key': '"nightly-1"' } });
  const [first, again] = [await ask({}), await ask({})];
  assert.equal(first.body.execution_id, again.body.execution_id);
  assert.equal((await ask({ query_parameters: { Chain: 'celo' } })).status, 422);
});

test('a key has no more runs waiting than its limit', async (t) => {
  const service = await start(t, { QRS_RUNS_WAITING_PER_KEY: '2' });
  const id = await addQuery(service);
  await execute(service, id);
  await execute(service, id);
  const { status: code, headers, body } = await service.send('POST', `/v1/query/${id}/execute`, {});
  assert.deepEqual([code, headers.get('x-error-code'), headers.get('retry-after')], [429, 'too_many_runs', '5']);
  assert.equal(body.error, 'this key has 2 runs waiting, and may have no more');
});

test("a run of the service's own engine is cancelled by a client, and not started, failed or given a result", async (t) => {
  const service = await start(t, { QRS_RUNS_WAITING_PER_KEY: '1' });
  const id = await addQuery(service, { name: 'endless', query_sql: ENDLESS });
  const run = await execute(service, id);
  const refusals = async (state: string) => {
    const steps = [
      ['POST', 'start', {}, 'EXECUTING'],
      ['POST', 'fail', { message: 'no' }, 'FAILED'],
      ['PUT', 'results', {}, 'COMPLETED'],
    ] as const;
    for (const [method, step, body, to] of steps) {
      const answer = await service.send(method, `/v1/execution/${run}/${step}`, body, {
        headers: step === 'results' ? { 'content-type': 'application/x-ndjson' } : {},
      });
      assert.deepEqual([answer.status, answer.headers.get('x-error-code')], [409, 'illegal_transition']);
      assert.deepEqual(answer.body, {
        error: `execution ${run} is ${state}: it cannot become ${to}, since the service's own engine runs it; it can be cancelled`,
        state: `QUERY_STATE_${state}`,
      });
    }
  };
  await refusals('PENDING');
  assert.equal((await status(service, run)).state, 'QUERY_STATE_PENDING');
  assert.equal((await service.send('POST', `/v1/query/${id}/execute`, {})).status, 429);
  const started = service.next('started');
  service.startRunner();
  await started;
  await refusals('EXECUTING');
  const ended = service.next('cancelled');
  assert.deepEqual((await service.send('POST', `/v1/execution/${run}/cancel`, {})).body, { success: true });
  await ended;
  assert.equal((await status(service, run)).state, 'QUERY_STATE_CANCELLED');
  assert.deepEqual(service.faults, []);
});

test('the command refuses to start, fail or publish such a run, too', async (t) => {
  const service = await start(t);
  const id = await addQuery(service);
  const run = await execute(service, id);
  const { commandLine } = service;
  const file = join(commandLine.directory, 'rows.csv');
  await writeFile(file, 'n\n1\n');
  for (const [to, ...args] of [
    ['EXECUTING', 'executions', 'start', run],
    ['FAILED', 'executions', 'fail', run, '--message', 'no'],
    ['COMPLETED', 'publish', file, '--execution', run],
  ] as const) {
    assert.deepEqual(await commandLine.run(args), {
      code: 1,
      out: '',
      err: `error: execution ${run} is PENDING: it cannot become ${to}, since the service's own engine runs it; it can be cancelled\n`,
    });
  }
  assert.equal((await status(service, run)).state, 'QUERY_STATE_PENDING');
});

test('with coalescing on, a request equal to a waiting run gets that run', async (t) => {
  const service = await start(t, { QRS_COALESCE_RUNS: 'true' });
  const id = await addQuery(service);
  const first = await execute(service, id);
  assert.equal(await execute(service, id, { query_parameters: { Chain: 'base' } }), first);
  assert.notEqual(await execute(service, id, { query_parameters: { Chain: 'celo' } }), first);
});

test('SQL of no query, if the setting allows it, is private to its owner', async (t) => {
  const service = await start(t, { QRS_SQL_EXECUTE: 'true' });
  const run = async (sql: string) => {
    const { status: code, body } = await service.send('POST', '/v1/sql/execute', { sql });
    assert.deepEqual([code, body.state], [200, 'QUERY_STATE_PENDING']);
    return String(body.execution_id);
  };
  const [one, two] = [await run("SELECT 'one' AS n"), await run("SELECT 'two' AS n")];
  const done = service.next('completed').then(() => service.next('completed'));
  service.startRunner();
  await done;
  const rows = async (id: string, key = service.key) => {
    const { status: code, body } = await service.send('GET', `/v1/execution/${id}/results`, undefined, { key });
    return [code, (body.result as { readonly rows: unknown } | undefined)?.rows];
  };
  assert.deepEqual(await rows(one), [200, [{ n: 'one' }]]);
  assert.deepEqual(await rows(two), [200, [{ n: 'two' }]]);
  await service.commandLine.get('users', 'add', 'bob');
  const stranger = await service.commandLine.get('keys', 'create', '--user', 'bob', '--scope', 'write');
  assert.deepEqual(await rows(one, stranger), [404, undefined]);
});
