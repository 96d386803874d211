/**
 * The hosted API's own TypeScript client from npm against this service. It has no setting for its address, so the test
 * redirects `fetch` (docs/guides/clients.md) and changes nothing else.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DuneClient, DuneError, ExecutionState, Paginator, QueryParameter } from '@duneanalytics/client-sdk';
import { type HttpService, startHttpService } from './http-service.ts';

const HOSTED = 'https://api.dune.com/api/';
const ROWS = 250;

/**
 * The client writes every error to the console before it throws it. The logger is a dependency of the client, so it is found
 * from there.
 */
const sdk = createRequire(import.meta.url).resolve('@duneanalytics/client-sdk');
const logger: { readonly setLevel: (level: 'silent') => void } = createRequire(sdk)('loglevel');
logger.setLevel('silent');

/**
 * Requests to the hosted address go to the service, as in the guide. Others pass through, so a wrong next_uri would be noticed.
 */
function redirectFetch(t: TestContext, service: HttpService): readonly string[] {
  const asked: string[] = [];
  const direct = globalThis.fetch;
  t.mock.method(globalThis, 'fetch', async (input: string | URL | Request, init?: RequestInit) => {
    const url = String(input);
    const there = url.startsWith(HOSTED) ? `${service.url}/api/${url.slice(HOSTED.length)}` : url;
    assert.ok(there.startsWith(service.url), `a request left for ${url}`);
    asked.push(there.slice(service.url.length));
    return await direct(there, init);
  });
  return asked;
}

/** Query 7: the numbers 0 to 249, each with its half and a name. Published just now, because the client checks the age. */
async function start(t: TestContext) {
  const service = await startHttpService(t);
  service.commandLine.now = Date.now();
  const lines = Array.from({ length: ROWS }, (_, n) => `${n},${n / 2},${n % 2 === 0 ? 'even' : 'odd'}`);
  const execution = await service.publish(7, `n,half,kind\n${lines.join('\n')}\n`, {
    types: { n: 'bigint', half: 'double', kind: 'varchar' },
  });
  const asked = redirectFetch(t, service);
  return { service, execution, asked, client: new DuneClient(service.key) };
}

const numbers = (rows: readonly Record<string, unknown>[] | undefined) => rows?.map(({ n }) => n);

test('the latest result, with every page followed to the end', async (t) => {
  const { client, execution, asked } = await start(t);
  const all = await client.getLatestResult({ queryId: 7, opts: { batchSize: 100 } });
  assert.equal(all.execution_id, execution.id);
  assert.equal(all.state, ExecutionState.COMPLETED);
  assert.equal(all.is_execution_finished, true);
  assert.deepEqual(
    numbers(all.result?.rows),
    Array.from({ length: ROWS }, (_, n) => n),
  );
  assert.deepEqual(all.result?.rows[3], { n: 3, half: 1.5, kind: 'odd' });
  assert.equal(all.result?.metadata.row_count, ROWS);
  assert.equal(all.result?.metadata.total_row_count, ROWS);
  assert.equal(all.next_uri, undefined);
  assert.deepEqual(asked, [
    '/api/v1/query/7/results?limit=100',
    `/api/v1/execution/${execution.id}/results?limit=100&offset=100`,
    `/api/v1/execution/${execution.id}/results?limit=100&offset=200`,
  ]);
});

test('CSV: the joined pages are the whole result', async (t) => {
  const { client, service } = await start(t);
  const { data, next_uri } = await client.exec.getLastResultCSV(7, { limit: 100 });
  assert.equal(next_uri, null);
  assert.equal(data, await (await service.get('/v1/query/7/results/csv')).text());
  const file = join(service.commandLine.directory, 'all.csv');
  await client.downloadCSV({ queryId: 7, opts: { batchSize: 64 } }, file);
  assert.equal(await readFile(file, 'utf8'), data);
});

test('one page of CSV says where the next one is', async (t) => {
  const { client, execution, service } = await start(t);
  const page = await client.exec.getResultCSV(execution.id, { limit: 2, offset: 10 });
  assert.equal(page.data, 'n,half,kind\n10,5.0,even\n11,5.5,odd\n');
  assert.equal(page.next_offset, 12);
  assert.equal(page.next_uri, `${service.url}/api/v1/execution/${execution.id}/results/csv?limit=2&offset=12`);
});

test('the paginator goes forward, back and to the last page', async (t) => {
  const { client, execution } = await start(t);
  const status = await client.exec.getExecutionStatus(execution.id);
  const pages = await Paginator.new(client.exec, status, 100);
  assert.equal(pages.maxPage(), 3);
  assert.equal(pages.getCurrentPageValues()?.values.length, 100);
  assert.deepEqual((await pages.nextPage())?.values[0], { n: 100, half: 50, kind: 'even' });
  assert.equal((await pages.lastPage())?.values.length, 50);
  assert.deepEqual((await pages.previousPage())?.number, 2);
  assert.deepEqual(numbers((await pages.getPage(1))?.values)?.slice(0, 3), [0, 1, 2]);
});

test('filters, sort and columns, also over several pages', async (t) => {
  const { client, execution } = await start(t);
  const some = await client.exec.getExecutionResults(execution.id, {
    filters: "kind = 'odd' and n < 10",
    sort_by: ['half desc', 'n'],
    columns: ['n', 'kind'],
  });
  assert.deepEqual(
    some.result?.rows,
    [9, 7, 5, 3, 1].map((n) => ({ n, kind: 'odd' })),
  );
  assert.deepEqual(some.result?.metadata.column_names, ['n', 'kind']);
  const { results } = await client.exec.getLastExecutionResults(7, {
    filters: 'n >= 200',
    sort_by: 'n desc',
    limit: 20,
  });
  assert.deepEqual(
    numbers(results.result?.rows),
    Array.from({ length: 50 }, (_, n) => 249 - n),
  );
});

test('a sample', async (t) => {
  const { client, execution } = await start(t);
  const { result } = await client.exec.getExecutionResults(execution.id, { sample_count: 20 });
  assert.equal(new Set(numbers(result?.rows)).size, 20);
  assert.equal(result?.metadata.total_row_count, ROWS);
});

test('query parameters choose the run', async (t) => {
  const { client, service } = await start(t);
  const run = await service.publish(7, 'n\n1\n', { parameters: { chain: 'base', day: '2024-03-05' } });
  const query_parameters = [QueryParameter.text('chain', 'base')];
  const { results } = await client.exec.getLastExecutionResults(7, { query_parameters });
  assert.equal(results.execution_id, run.id);
});

test("the service's status and error text reach the caller", async (t) => {
  const { client, execution, service } = await start(t);
  const fails = async (call: Promise<unknown>, text: string) =>
    await assert.rejects(call, (error) => error instanceof DuneError && error.message.includes(text));
  await fails(
    new DuneClient('not a key').exec.getExecutionResults(execution.id),
    'HTTP - Status: 401, Message: {"error":"invalid API Key"}',
  );
  await fails(
    client.getLatestResult({ queryId: 999 }),
    'HTTP - Status: 404, Message: {"error":"not found: Query not found or private"}',
  );
  await fails(
    client.exec.getExecutionStatus('01HR7V4N7VD2Q9D9Z5T2T6W3M1'),
    'HTTP - Status: 404, Message: {"error":"The requested execution ID (ID 01HR7V4N7VD2Q9D9Z5T2T6W3M1) was not found."}',
  );
  await fails(client.exec.getExecutionResults('nonsense'), 'HTTP - Status: 400');
  await fails(client.exec.getExecutionResults(execution.id, { filters: 'm > 1' }), 'HTTP - Status: 400');
  await fails(client.exec.executeQuery(7), 'HTTP - Status: 403, Message: {"error":"this API key may only read"}');
  assert.deepEqual(service.faults, []);
});

test('the state of a run is polled until it is finished', async (t) => {
  const { client, service } = await start(t);
  const { commandLine } = service;
  const id = await commandLine.get('executions', 'submit', '--query', '7');
  const pending = await client.exec.getExecutionStatus(id);
  assert.deepEqual([pending.state, pending.queue_position], [ExecutionState.PENDING, 1]);
  await commandLine.get('executions', 'start', id);
  assert.equal((await client.exec.getExecutionStatus(id)).state, ExecutionState.EXECUTING);
  await service.publish(7, 'n\n1\n2\n', { executionId: id });
  const completed = await client.exec.getExecutionStatus(id);
  assert.ok(completed.state === ExecutionState.COMPLETED);
  assert.equal(completed.result_metadata.total_row_count, 2);

  const failed = await commandLine.get('executions', 'submit', '--query', '7');
  await commandLine.get('executions', 'fail', failed, '--message', 'no such table', '--line', '3', '--column', '8');
  const { state, error } = await client.exec.getExecutionStatus(failed);
  assert.equal(state, ExecutionState.FAILED);
  assert.deepEqual(error, { type: 'execution_error', message: 'no such table', metadata: { line: 3, column: 8 } });
});
