/**
 * The hosted API's own TypeScript client runs queries here, unmodified except for where `fetch` goes: runQuery, executeQuery,
 * cancelExecution, executeSql, and its methods for queries.
 */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { type TestContext, test } from 'node:test';
import { DuneClient, DuneError, ExecutionState, QueryParameter } from '@duneanalytics/client-sdk';
import { type RunningService, startRunningService } from './running-service.ts';

const HOSTED = 'https://api.dune.com/api/';

/** The client writes every error to the console before it throws it. */
const sdk = createRequire(import.meta.url).resolve('@duneanalytics/client-sdk');
const logger: { readonly setLevel: (level: 'silent') => void } = createRequire(sdk)('loglevel');
logger.setLevel('silent');

async function start(t: TestContext, environment: Readonly<Record<string, string>> = {}) {
  const sources = { 'shop/orders.csv': 'id,chain,amount\n1,base,5\n2,base,7\n3,celo,11\n' };
  const service: RunningService = await startRunningService(t, sources, environment);
  const direct = globalThis.fetch;
  t.mock.method(globalThis, 'fetch', async (input: string | URL | Request, init?: RequestInit) => {
    const url = String(input);
    return await direct(url.startsWith(HOSTED) ? `${service.url}/api/${url.slice(HOSTED.length)}` : url, init);
  });
  return { service, client: new DuneClient(service.key) };
}

const SQL =
  'SELECT id::INT AS id, amount::INT * {{factor}} AS cost FROM shop.orders WHERE chain = {{chain}} ORDER BY id';

test('runQuery: execute, poll, read', async (t) => {
  const { service, client } = await start(t);
  service.startRunner();
  const queryId = await client.query.createQuery({
    name: 'Orders',
    query_sql: SQL,
    query_parameters: [QueryParameter.number('factor', 2), QueryParameter.text('chain', 'base')],
    is_private: false,
  });
  const opts = { pingFrequency: 0.1 };
  const first = await client.runQuery({ queryId, opts });
  assert.equal(first.state, ExecutionState.COMPLETED);
  assert.deepEqual(first.result?.rows, [
    { id: 1, cost: 10 },
    { id: 2, cost: 14 },
  ]);
  const query_parameters = [QueryParameter.text('chain', 'celo'), QueryParameter.number('factor', 3)];
  const second = await client.runQuery({ queryId, query_parameters, opts });
  assert.deepEqual(second.result?.rows, [{ id: 3, cost: 33 }]);
  assert.deepEqual(service.faults, []);
});

test('executeQuery, getExecutionStatus, cancelExecution', async (t) => {
  const { client } = await start(t);
  const queryId = await client.query.createQuery({ name: 'One', query_sql: 'SELECT 1 AS n' });
  const { execution_id, state } = await client.exec.executeQuery(queryId);
  assert.equal(state, ExecutionState.PENDING);
  const status = await client.exec.getExecutionStatus(execution_id);
  assert.equal(status.state, ExecutionState.PENDING);
  assert.equal('queue_position' in status && status.queue_position, 1);
  assert.equal(await client.exec.cancelExecution(execution_id), true);
  assert.equal((await client.exec.getExecutionStatus(execution_id)).state, ExecutionState.CANCELLED);
  const query_parameters = [QueryParameter.text('Name', 'x')];
  await assert.rejects(client.exec.executeQuery(queryId, { query_parameters }), (error) => {
    assert.ok(error instanceof DuneError);
    assert.match(error.message, /400.*unknown parameters \(Name\)/);
    return true;
  });
});

test('a query is read, changed, made private and archived, and then not run', async (t) => {
  const { client } = await start(t);
  const queryId = await client.query.createQuery({ name: 'One', query_sql: 'SELECT 1 AS n' });
  await client.query.updateQuery(queryId, { name: 'Two', query_sql: 'SELECT 2 AS n' });
  const { name, query_sql } = await client.query.readQuery(queryId);
  assert.deepEqual([name, query_sql], ['Two', 'SELECT 2 AS n']);
  await client.query.makePrivate(queryId);
  assert.equal((await client.query.readQuery(queryId)).is_private, true);
  await client.query.archiveQuery(queryId);
  assert.equal((await client.query.readQuery(queryId)).is_archived, true);
  await assert.rejects(client.exec.executeQuery(queryId), /400.*is archived: it is served, not run/);
});

test('executeSql, where the setting allows it', async (t) => {
  const { service, client } = await start(t, { QRS_SQL_EXECUTE: 'true' });
  const done = service.next('completed');
  service.startRunner();
  const { execution_id } = await client.exec.executeSql({ sql: 'SELECT 41 + 1 AS answer' });
  await done;
  assert.deepEqual((await client.exec.getExecutionResults(execution_id)).result?.rows, [{ answer: 42 }]);
});
