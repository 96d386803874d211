/** A result whose parts are missing from the store does not hide the run before it, and is reported to all who should know. */
import assert from 'node:assert/strict';
import { rename, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Execution } from '../../src/domain/execution.ts';
import { type HttpService, startHttpService } from './http-service.ts';

/** Parts of one row group of 2,048 rows. */
const LAYOUT = { rowGroupRows: 2048, rowGroupsPerPart: 1 };
const ROWS = 5000;

const csv = (first: number) => `n\n${Array.from({ length: ROWS }, (_, n) => first + n).join('\n')}\n`;

async function withTwoRuns(t: TestContext) {
  const service = await startHttpService(t);
  const older = await service.publish(7, csv(0), { ...LAYOUT, parameters: { chain: 'base' } });
  service.commandLine.now += 60_000;
  const newer = await service.publish(7, csv(10_000), { ...LAYOUT, parameters: { chain: 'base' } });
  return { service, older, newer };
}

async function partPaths(service: HttpService, { id }: Execution): Promise<readonly string[]> {
  const resultSet = await (await service.catalog()).executions.findResultSet(id);
  const paths = (resultSet?.parts ?? []).map(({ key }) => join(service.commandLine.dataDir, 'results', key));
  assert.equal(paths.length, 3);
  return paths;
}

/** Removes the parts behind the service's back. @returns puts them back */
async function lose(path: string | undefined): Promise<() => Promise<void>> {
  assert(path !== undefined);
  await rename(path, `${path}.lost`);
  return () => rename(`${path}.lost`, path);
}

/** Which run is answered, its first row, and which run was skipped. */
async function asked(service: HttpService, address: string) {
  const response = await service.get(address);
  const body = (await response.json()) as {
    readonly execution_id?: string;
    readonly result?: { readonly rows: readonly { readonly n: number }[] };
  };
  const { execution_id, result } = body;
  const skipped = response.headers.get('x-service-skipped-execution-id');
  assert.equal(response.headers.get('x-dune-skipped-execution-id'), skipped);
  return [execution_id ?? response.headers.get('x-error-code'), result?.rows[0]?.n, skipped];
}

const notices = ({ observed }: HttpService) =>
  observed.filter(({ kind }) => kind === 'result_missing' || kind === 'result_restored');

test('parts missing from the start: the run before is the latest until they are back', async (t) => {
  const { service, older, newer } = await withTwoRuns(t);
  const [, , last] = await partPaths(service, newer);
  const putBack = await lose(last);
  for (const address of [
    '/v1/query/7/results?limit=1',
    '/v1/query/7/results?limit=1',
    '/v1/query/7/results?limit=1&params.chain=base',
    '/v1/query/7/results?filters=n<1',
    '/v1/query/7/results?sample_count=5000&sort_by=n',
  ]) {
    assert.deepEqual(await asked(service, address), [older.id, 0, newer.id], address);
  }
  const text = await service.get('/v1/query/7/results/csv?limit=1');
  assert.deepEqual([await text.text(), text.headers.get('x-service-skipped-execution-id')], ['n\n0\n', newer.id]);
  const byId = `/v1/execution/${newer.id}/results`;
  assert.deepEqual(await asked(service, byId), ['result_damaged', undefined, null], 'by its id it is what it is');
  assert.deepEqual(notices(service), [{ kind: 'result_missing', executionId: newer.id }]);
  const ready = await service.get('/readyz', { key: '' });
  assert.deepEqual([ready.status, await ready.json()], [200, { status: 'ready', missing_results: 1 }]);

  await putBack();
  await service.publish(8, 'n\n1\n');
  assert.deepEqual(await asked(service, '/v1/query/7/results?limit=1'), [newer.id, 10_000, null]);
  assert.deepEqual(notices(service).at(-1), { kind: 'result_restored', executionId: newer.id });
});

test('parts that go missing later: the read that notices is answered from the run before, and so are all after it', async (t) => {
  const { service, older, newer } = await withTwoRuns(t);
  const hot = '/v1/query/7/results?limit=1';
  for (let time = 0; time < 3; time += 1) assert.deepEqual(await asked(service, hot), [newer.id, 10_000, null]);
  const [, second] = await partPaths(service, newer);
  await lose(second);
  assert.deepEqual(await asked(service, '/v1/query/7/results?offset=2100&limit=1'), [older.id, 2100, newer.id]);
  assert.deepEqual(await asked(service, hot), [older.id, 0, newer.id]);
  assert.deepEqual(notices(service), [{ kind: 'result_missing', executionId: newer.id }]);
});

test('where every result has lost parts, the newest is answered, and says that it is damaged', async (t) => {
  const { service, older, newer } = await withTwoRuns(t);
  for (const run of [older, newer]) await lose((await partPaths(service, run))[0]);
  const latest = await asked(service, '/v1/query/7/results');
  assert.deepEqual(latest, ['result_damaged', undefined, null]);
  const { execution_id } = await service.json(`/v1/execution/${newer.id}/status`);
  assert.equal(execution_id, newer.id);
});

test('the doctor names the results with missing objects', async (t) => {
  const { service, newer } = await withTwoRuns(t);
  const { commandLine } = service;
  const found = async () => {
    const findings = JSON.parse((await commandLine.run(['doctor', '--json'])).out);
    return findings.find(({ check }: { readonly check: string }) => check === 'stored results');
  };
  const check = 'stored results';
  assert.deepEqual(await found(), { check, status: 'ok', found: 'none misses an object in the store' });
  const putBack = await lose((await partPaths(service, newer))[1]);
  const { status, found: told } = await found();
  assert.deepEqual([status, told], ['wrong', `1 with objects missing from the store, of executions ${newer.id}`]);
  assert.equal((await commandLine.run(['doctor'])).code, 1);
  await putBack();
  assert.equal((await found()).status, 'ok');
});

test('a folder of a result that the system cannot look into is told as damage, by the latest run and by its id', async (t) => {
  const { service, newer } = await withTwoRuns(t);
  const [part = ''] = await partPaths(service, newer);
  const folder = dirname(part);
  await rename(folder, `${folder}.aside`);
  // Rights would not keep root out; a link in a circle does.
  await symlink(folder, folder);
  for (const address of ['/v1/query/7/results?limit=1', `/v1/execution/${newer.id}/results?limit=1`]) {
    assert.deepEqual(await asked(service, address), ['result_damaged', undefined, null], address);
  }
});
