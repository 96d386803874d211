/** What a dataset's address answers while its results come and go: refreshes that complete, that fail, that are kept. */
import assert from 'node:assert/strict';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { monotonicFactory } from 'ulid';
import { runnerOf, runQueueOf } from '../../src/compose/runs.ts';
import { scheduleOf } from '../../src/compose/schedule.ts';
import { openService } from '../../src/compose/service.ts';
import type { DemoSize } from '../../src/datasets/demo-sources/demo-table.ts';
import { writeDemoSources } from '../../src/datasets/demo-sources/write-demo-sources.ts';
import { Runner } from '../../src/runs/runner.ts';
import { Schedule } from '../../src/scheduler/schedule.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import { FakeCoordinator } from '../contract/fake-coordinator.ts';
import { column, json } from '../contract/trino-on-fake.ts';
import { sleep } from '../real-time.ts';
import { storedKeys } from './behind-the-command.ts';
import { newFolder } from './dataset-fixture.ts';
import { type Envelope, getEnvelope } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';

const OPERATORS = '/v1/restaking/operator-stats';
const MINUTE = 60_000;
const at = (time: string) => Date.parse(`2024-03-05T${time}Z`);
const FEW: DemoSize = { operators: 8, avss: 3, stakers: 40, wallets: 20 };
const MORE: DemoSize = { ...FEW, operators: 11 };

async function writeSources(directory: string, size: DemoSize, signal: AbortSignal): Promise<void> {
  await writeDemoSources(directory, { size, until: at('00:00:00'), signal, sleep });
}

async function start(t: TestContext): Promise<{ readonly service: HttpService; readonly sources: string }> {
  const sources = await newFolder();
  await writeSources(sources, FEW, t.signal);
  const service = await startHttpService(t, { QRS_SOURCES_DIR: sources });
  return { service, sources };
}

const refresh = (service: HttpService) => service.commandLine.get('datasets', 'refresh', 'operator-stats');

function effectsOf() {
  const fail = (what: string, error: unknown) => assert.fail(`${what}: ${error}`);
  return {
    newExecutionId: monotonicFactory(),
    owner: 'another',
    random: Math.random,
    observe: () => undefined,
    onFault: fail,
  };
}

const addresses = (rows: Envelope['result']['rows']) => rows.map((row) => row.operator_contract_address);

test('a walk from page to page stays on the result it began with, though a refresh completes in between', async (t) => {
  const { service, sources } = await start(t);
  const before = await refresh(service);
  const whole = await getEnvelope(service, OPERATORS);
  const first = await getEnvelope(service, `${OPERATORS}?limit=3&sort_by=num_stakers%20desc`);
  const walked = [...first.result.rows];

  await writeSources(sources, MORE, t.signal);
  service.commandLine.now += MINUTE;
  const after = await refresh(service);

  for (let next = first.next_uri; next !== undefined; ) {
    const page = await getEnvelope(service, next.slice(service.url.length));
    assert.equal(page.execution_id, before);
    walked.push(...page.result.rows);
    next = page.next_uri;
  }
  assert.deepEqual(addresses(walked).toSorted(), addresses(whole.result.rows).toSorted());
  const now = await getEnvelope(service, OPERATORS);
  assert.deepEqual(
    [first.execution_id, now.execution_id, whole.result.rows.length, now.result.rows.length],
    [before, after, 8, 11],
  );
});

test('a failed refresh leaves the last good result served, and its error on the failed run', async (t) => {
  const { service, sources } = await start(t);
  const good = await refresh(service);
  await rm(join(sources, 'restaking/strategy_exchange_rate.parquet'));
  service.commandLine.now += 15 * MINUTE;

  const { code, out, err } = await service.commandLine.run(['datasets', 'refresh', 'operator-stats']);
  assert.equal(code, 1);
  assert.match(
    err,
    /^error: dataset operator-stats was not refreshed: missing_source: source table restaking\.strategy_exchange_rate is missing: [^\n]+\n$/,
  );
  assert.equal((await getEnvelope(service, OPERATORS)).execution_id, good);
  const failed = await service.json(`/v1/execution/${out.trim()}/results`);
  assert.equal(failed.state, 'QUERY_STATE_FAILED');
  assert.equal((failed.error as { type: string }).type, 'missing_source');
  assert.equal('result' in failed, false);

  await writeSources(sources, FEW, t.signal);
  const mended = await refresh(service);
  assert.equal((await getEnvelope(service, OPERATORS)).execution_id, mended);
});

test('an answer says how old it is, and may be cached until the next refresh is due', async (t) => {
  const { service } = await start(t);
  const { commandLine } = service;
  commandLine.now = at('10:07:00');
  await refresh(service);
  const headers = async () => {
    const response = await service.get(OPERATORS);
    return [response.headers.get('last-modified'), response.headers.get('cache-control')];
  };
  const modified = 'Tue, 05 Mar 2024 10:07:00 GMT';
  commandLine.now = at('10:08:30');
  assert.deepEqual(await headers(), [modified, 'private, max-age=390']);
  commandLine.now = at('10:15:02');
  assert.deepEqual(await headers(), [modified, 'private, no-cache'], 'the refresh that is due has not landed yet');
  await refresh(service);
  assert.deepEqual(await headers(), ['Tue, 05 Mar 2024 10:15:02 GMT', 'private, max-age=898']);

  const etag = (await service.get(OPERATORS)).headers.get('etag') ?? '';
  const again = () => service.get(OPERATORS, { headers: { 'if-none-match': etag } });
  assert.equal((await again()).status, 304);
  await refresh(service);
  assert.equal((await again()).status, 200);
});

test('that a dataset has no result yet is never kept: whoever mends the refresh is seen at once', async (t) => {
  const service = await startHttpService(t, { QRS_SOURCES_DIR: await newFolder() });
  assert.equal((await service.commandLine.run(['datasets', 'refresh', 'operator-stats'])).code, 1);
  const answer = await service.get(OPERATORS);
  assert.deepEqual(
    [((await answer.json()) as { state: string }).state, answer.headers.get('cache-control')],
    ['QUERY_STATE_FAILED', 'private, no-cache'],
  );
});

test('a day of refreshes takes no more disk than the results that are kept, and one that may still be read', async (t) => {
  const { service, sources } = await start(t);
  const { commandLine } = service;
  const { settings } = loadSettings({
    environment: {
      QRS_DATA_DIR: commandLine.dataDir,
      ...commandLine.catalog,
      QRS_SOURCES_DIR: sources,
      QRS_DATASETS_KEEP: '3',
      QRS_SWEEP_SCHEDULE: '*/15 * * * *',
    },
    readFile: () => undefined,
  });
  await using another = await openService(settings, {
    clock: () => commandLine.now,
    sleep,
    monotonic: () => performance.now(),
  });
  const effects = effectsOf();
  const queue = await runQueueOf(another, effects);
  const { queries, ...deps } = await scheduleOf(another, effects, queue);
  const list = async () => (await queries.list()).filter(({ query }) => query.name === 'operator-to-avs-mapping');
  const schedule = new Schedule({ ...deps, queries: { ...queries, list } });
  const runner = new Runner(await runnerOf(another, queue, effects), t.signal);
  const stored: number[] = [];
  for (let tick = 0; tick < 8; tick += 1) {
    commandLine.now = at('10:00:00') + tick * 15 * MINUTE;
    await schedule.runDue(t.signal);
    await runner.look();
    await runner.drained();
    stored.push(new Set((await storedKeys(commandLine)).map((key) => key.split('/')[0])).size);
  }
  // The sweep after the next one deletes what a refresh makes expire, when no read can have begun before.
  assert.deepEqual(stored, [1, 2, 3, 4, 4, 4, 4, 4]);
  assert.deepEqual(await readdir(another.directories.staging), []);
  assert.equal((await commandLine.get('executions', 'list', '--state', 'expired')).split('\n').length, 4);
  assert.equal(await commandLine.get('sweep'), 'expired=0\norphans=0\nbytes=0');
});

test('a dataset without source tables is refreshed by the schedule again after a stop in which its result expired', async (t) => {
  const own = await newFolder();
  await mkdir(join(own, 'ones'));
  const columns = [{ name: 'n', type: 'integer', about: 'one' }];
  const declaration = { title: 'Ones', path: '/v1/my/ones', query_id: 990_500_001, schedule: '0 * * * *', columns };
  await writeFile(join(own, 'ones/dataset.json'), JSON.stringify(declaration));
  await writeFile(join(own, 'ones/query.sql'), 'SELECT 1 AS n ORDER BY n');
  const service = await startHttpService(t, { QRS_DATASETS_DIR: own });
  const { commandLine } = service;
  await commandLine.get('datasets', 'refresh', 'ones');
  const { settings } = loadSettings({
    environment: { QRS_DATA_DIR: commandLine.dataDir, ...commandLine.catalog, QRS_DATASETS_DIR: own },
    readFile: () => undefined,
  });
  const effects = { clock: () => commandLine.now, sleep, monotonic: () => performance.now() };
  await using another = await openService(settings, effects);
  const { queries } = await scheduleOf(another, effectsOf(), await runQueueOf(another, effectsOf()));
  const isSetUp = async () =>
    await (await queries.list()).find(({ query }) => query.name === 'ones')?.isSetUp(t.signal);
  commandLine.now += 91 * 24 * 60 * MINUTE;
  assert.equal(await isSetUp(), true);
  await commandLine.get('sweep', '--yes');
  assert.equal(await isSetUp(), true);
});

test('Trino is asked for the source tables of a dataset that nobody has set up once a minute, not at every look', async (t) => {
  await using trino = await FakeCoordinator.start();
  trino.file('/v1/statement', json({ columns: [column('found', 'integer')] }));
  const { commandLine } = await startHttpService(t);
  const { settings } = loadSettings({
    environment: {
      QRS_DATA_DIR: commandLine.dataDir,
      ...commandLine.catalog,
      QRS_ENGINE_URL: `trino://qrs@127.0.0.1:${trino.port}/lake`,
    },
    readFile: () => undefined,
  });
  let now = 0;
  await using service = await openService(settings, { clock: () => commandLine.now, sleep, monotonic: () => now });
  const schedule = new Schedule(await scheduleOf(service, effectsOf(), await runQueueOf(service, effectsOf())));
  const asked: number[] = [];
  for (now of [0, 5000, 59_999, 60_000, 65_000, 120_000]) {
    await schedule.submitDue(t.signal);
    asked.push(trino.received.length);
  }
  assert.deepEqual(asked, [4, 4, 4, 8, 8, 12]);
});
