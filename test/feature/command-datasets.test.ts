/** `qrs datasets` and `qrs demo-sources`. */
import assert from 'node:assert/strict';
import { watch } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ulid } from 'ulid';
import { writeDemoSources } from '../../src/datasets/demo-sources/write-demo-sources.ts';
import { currentLeaseOwner } from '../../src/leases/lease-owner.ts';
import { RunQueue } from '../../src/runs/run-queue.ts';
import { sleep } from '../real-time.ts';
import { openBehind } from './behind-the-command.ts';
import { type CommandLine, makeCommandLine } from './command.ts';

const NAMES = ['avs-stats', 'operator-stats', 'operator-to-avs-mapping', 'points'];

/** A command line whose data directory has source tables. */
async function withSources(t: TestContext, environment: Readonly<Record<string, string>> = {}): Promise<CommandLine> {
  const qrs = await makeCommandLine(t, environment);
  const size = { operators: 8, avss: 3, stakers: 40, wallets: 20 };
  await writeDemoSources(join(qrs.dataDir, 'sources'), { size, until: qrs.now, signal: t.signal, sleep });
  return qrs;
}

test('before any refresh, the list names each dataset and says what it is', async (t) => {
  const qrs = await makeCommandLine(t);
  assert.deepEqual((await qrs.get('datasets', 'list')).split('\n'), NAMES);
  const [first] = JSON.parse(await qrs.get('datasets', 'list', '--json'));
  assert.deepEqual(first, {
    name: 'avs-stats',
    path: '/v1/restaking/avs-stats',
    query_id: 990_000_003,
    schedule: '*/15 * * * *',
    next_refresh: '2024-03-05T21:00:00.000000Z',
  });
});

test('a refresh prints the execution id, and the list says how fresh the dataset is', async (t) => {
  const qrs = await withSources(t);
  const { code, out, err } = await qrs.run(['datasets', 'refresh', 'avs-stats']);
  assert.deepEqual([code, err], [0, 'dataset avs-stats: 3 rows in 0.0 s\n']);
  qrs.now += 90_500;
  const [first] = JSON.parse(await qrs.get('datasets', 'list', '--json'));
  assert.deepEqual(first, {
    name: 'avs-stats',
    path: '/v1/restaking/avs-stats',
    query_id: 990_000_003,
    schedule: '*/15 * * * *',
    next_refresh: '2024-03-05T21:00:00.000000Z',
    execution_id: out.trim(),
    refreshed_at: '2024-03-05T20:50:59.123000Z',
    age_seconds: 90,
    row_count: 3,
    latest_execution_id: out.trim(),
    latest_state: 'QUERY_STATE_COMPLETED',
  });
  assert.equal(await qrs.get('executions', 'list', '--query', '990000003'), out.trim());
  assert.equal(await qrs.get('queries', 'list'), '990000001\n990000002\n990000003\n990000004');
  assert.match((await qrs.run(['verify'])).err, /^1 stored object, none damaged\n$/);
});

for (const memory of ['512MB', '1GB']) {
  test(`all datasets are refreshed where the process may take ${memory}`, async (t) => {
    const qrs = await withSources(t, { QRS_MEMORY: memory });
    const { code, err } = await qrs.run(['datasets', 'refresh', '--all']);
    assert.equal(code, 0, err);
  });
}

test('all datasets are refreshed, even when one fails; then the exit code is 1', async (t) => {
  const qrs = await withSources(t);
  const json = JSON.parse(await qrs.get('datasets', 'refresh', '--all', '--json'));
  assert.deepEqual(
    json.map((run: Record<string, unknown>) => [run.name, run.state]),
    NAMES.map((name) => [name, 'QUERY_STATE_COMPLETED']),
  );
  await rm(join(qrs.dataDir, 'sources/restaking/strategy_exchange_rate.parquet'));
  const { code, out, err } = await qrs.run(['datasets', 'refresh', '--all']);
  assert.equal(code, 1);
  assert.equal(out.split('\n').length, 5, 'four ids, each on a line');
  assert.match(err, /^dataset operator-to-avs-mapping: [^\n]*\ndataset points: [^\n]*\nerror: 2 refreshes failed: /);
  const [first] = JSON.parse(await qrs.get('datasets', 'list', '--json'));
  assert.deepEqual(
    [first.execution_id, first.latest_state, first.latest_error.type],
    [json[0].execution_id, 'QUERY_STATE_FAILED', 'missing_source'],
  );
});

test('a dataset that another process is refreshing is not refreshed beside it; what a dead one left is run', async (t) => {
  const qrs = await withSources(t);
  await qrs.get('datasets', 'refresh', 'points');
  await using behind = await openBehind(qrs);
  const catalog = await behind.catalog();
  const query = (await catalog.queries.find(990_000_001)) ?? assert.fail('not registered');
  const limits = { waitingMax: 10, waitingOfKeyMax: 10 };
  const clock = () => qrs.now;
  const queue = new RunQueue({ catalog, clock, newExecutionId: ulid, limits, coalesce: false });
  const { execution } = await queue.submitOutOfTurn(query);
  const lease = { owner: currentLeaseOwner(), at: qrs.now, leaseMillis: 60_000 };
  const claimed = await catalog.runs.claim({ ...lease, runningOfKeyMax: 1, only: execution.id });
  assert.deepEqual(await qrs.run(['datasets', 'refresh', 'points']), {
    code: 1,
    out: '',
    err: 'error: dataset points is being refreshed already\n',
  });
  await catalog.leases.revoke(claimed?.lease ?? assert.fail('not claimed'));
  assert.equal(await qrs.get('datasets', 'refresh', 'points'), execution.id);
});

test('without sources a refresh fails, and says what is missing', async (t) => {
  const qrs = await makeCommandLine(t);
  const { code, err } = await qrs.run(['datasets', 'refresh', 'points']);
  assert.equal(code, 1);
  assert.match(
    err,
    /^error: dataset points was not refreshed: missing_source: source table points\.quests_completed is missing: expected points\/quests_completed\.parquet, [^\n]*\(QRS_SOURCES_DIR\)\n$/,
  );
});

test('a refresh without the name of a dataset is refused', async (t) => {
  const qrs = await makeCommandLine(t);
  for (const [args, message] of [
    [[], 'give one of NAME and --all'],
    [['points', '--all'], 'give one of NAME and --all'],
    [['avs-stat'], 'there is no dataset "avs-stat": did you mean avs-stats?'],
    [['x'], `there is no dataset "x": there are ${NAMES.join(', ')}`],
  ] as const) {
    assert.deepEqual(await qrs.run(['datasets', 'refresh', ...args]), { code: 2, out: '', err: `error: ${message}\n` });
  }
});

test('the reserved ids of datasets are not given out', async (t) => {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  for (const id of ['990000001', '990000005', '9007199254740991']) {
    const { code, err } = await qrs.run(['queries', 'add', '--id', id, '--user', 'ann']);
    assert.equal(code, 2);
    assert.match(err, /Ids from 990000001 on are reserved for the curated datasets\./);
  }
  assert.equal(await qrs.get('queries', 'add', '--id', '990000000', '--user', 'ann'), '990000000');
});

test('a query that took the id of a dataset before it was reserved is in the way of that dataset alone', async (t) => {
  const qrs = await withSources(t);
  await qrs.get('users', 'add', 'ann');
  {
    await using behind = await openBehind(qrs);
    const catalog = await behind.catalog();
    await catalog.queries.add({ id: 990_000_001, owner: { kind: 'user', name: 'ann' }, visibility: 'public' }, 0);
  }
  await qrs.get('datasets', 'refresh', 'avs-stats');
  const { code, err } = await qrs.run(['datasets', 'refresh', 'points']);
  assert.deepEqual(
    [code, err],
    [1, 'error: query 990000001 is reserved for the dataset points, but belongs to user ann\n'],
  );
});

test('demo sources are written as Parquet, one file for each table, and the command says how many rows each has', async (t) => {
  const qrs = await makeCommandLine(t);
  const folder = join(qrs.directory, 'made-up');
  const tables = (await qrs.get('demo-sources', folder, '--size', 'small')).split('\n');
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.parquet'));
  assert.deepEqual(files.toSorted(), tables.map((name) => `${name.replace('.', '/')}.parquet`).toSorted());
  assert.equal(tables.length, 17);
  const json = JSON.parse(await qrs.get('demo-sources', folder, '--size', 'small', '--json'));
  assert.equal(json.find(({ name }: { name: string }) => name === 'social.profiles').row_count > 100, true);
  assert.equal((await qrs.run(['demo-sources', folder, '--size', 'huge'])).code, 2);
  assert.equal((await qrs.run(['demo-sources', '/proc/made-up'])).code, 1);
});

test('a table of demo sources that was not written to its end is not there', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-demo-sources-'));
  t.after(() => rm(folder, { recursive: true }));
  const stopping = new AbortController();
  const reason = new Error('it is enough');
  const onTable = () => {
    // As soon as the first file of all has bytes.
    const watcher = watch(folder, { recursive: true }, (_, name) => {
      if (!name?.endsWith('.parquet')) return;
      watcher.close();
      stopping.abort(reason);
    });
    stopping.signal.addEventListener('abort', () => watcher.close());
  };
  const writing = writeDemoSources(folder, { size: 'full', until: 0, signal: stopping.signal, sleep, onTable });
  await assert.rejects(writing, (error) => error === reason);
  assert.deepEqual(
    (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.parquet')),
    [],
  );
});

test('demo sources that are written twice at once are whole', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-demo-sources-'));
  t.after(() => rm(folder, { recursive: true }));
  const write = () => writeDemoSources(folder, { size: 'small', until: 0, signal: t.signal, sleep });
  const [tables, others] = await Promise.all([write(), write()]);
  assert.deepEqual(others, tables);
  assert.deepEqual(
    (await readdir(folder, { recursive: true })).filter((name) => !name.includes('/')).sort(),
    [...new Set(tables.map(({ name }) => name.split('.')[0]))].sort(),
  );
});
