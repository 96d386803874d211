/** `qrs doctor`: what it reports as well, what it reports as wrong, and what it says to do. */
import assert from 'node:assert/strict';
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeDemoSources } from '../../src/datasets/demo-sources/write-demo-sources.ts';
import type { Finding } from '../../src/maintenance/doctor/finding.ts';
import { roomFinding } from '../../src/maintenance/doctor/folders.ts';
import { FakeCoordinator } from '../contract/fake-coordinator.ts';
import { hurried } from '../contract/trino-on-fake.ts';
import { NO_CATALOG_FILE } from '../postgres-server.ts';
import { sleep } from '../real-time.ts';
import { NO_RESULTS_FOLDER } from '../s3-server.ts';
import { openBehind } from './behind-the-command.ts';
import { type CommandLine, makeCommandLine } from './command.ts';
import { startHttpService } from './http-service.ts';

async function findingsOf(qrs: CommandLine): Promise<{ readonly code: number; readonly findings: readonly Finding[] }> {
  const { code, out } = await qrs.run(['doctor', '--json']);
  return { code, findings: JSON.parse(out) };
}

/** One that has been, so that nobody listens on its address. */
async function goneCoordinator() {
  await using fake = await FakeCoordinator.start();
  return { origin: fake.origin };
}

const named = (findings: readonly Finding[], check: string) => findings.find((finding) => finding.check === check);

test('an empty data directory is well: one line for each check, and nothing is left behind', async (t) => {
  const qrs = await makeCommandLine(t);
  const { code, out, err } = await qrs.run(['doctor']);
  assert.deepEqual({ code, err }, { code: 0, err: '' });
  const checks = out.split('\n').map((line) => /^(?:ok|warning) +([^:]+):/.exec(line)?.[1]);
  assert.deepEqual(checks.slice(0, 14), [
    'settings',
    'memory',
    'data directory',
    'results',
    'temporary files',
    'views',
    'derived files',
    'catalog',
    'store',
    'foreign files',
    'installation',
    'stored results',
    'clock',
    'leases',
  ]);
  assert.match(out, /dataset points: not set up: none of its source tables is in \S+\/sources\n/);
  const left = (await readdir(qrs.dataDir, { recursive: true })).filter((name) => name.includes('doctor'));
  assert.deepEqual(left, []);
});

test('after a wrong setting nothing else is checked', async (t) => {
  const qrs = await makeCommandLine(t, { QRS_PORT: 'eighty' });
  const { code, findings } = await findingsOf(qrs);
  assert.equal(code, 1);
  assert.deepEqual(findings, [
    {
      check: 'settings',
      status: 'wrong',
      found: 'QRS_PORT is "eighty": expected a whole number from 0 to 65535',
      advice: '`qrs config` prints every setting, docs/reference/settings.md explains them',
    },
  ]);
});

test('a data directory that does not exist', async (t) => {
  const qrs = await makeCommandLine(t);
  await writeFile(qrs.dataDir, 'a file');
  const { code, out, err } = await qrs.run(['doctor']);
  assert.equal(code, 1);
  assert.match(out, /\nwrong {4}data directory: \S+ is not a folder[^\n]+set QRS_DATA_DIR \(EEXIST\)\n$/);
  assert.equal(err, 'error: wrong: data directory\n');
});

test('a file in the place of a folder, without which the service does not start', async (t) => {
  for (const [name, check] of [
    ['tmp', 'temporary files'],
    ['views', 'views'],
    ['derived', 'derived files'],
  ] as const) {
    const qrs = await makeCommandLine(t);
    await mkdir(qrs.dataDir);
    const path = join(qrs.dataDir, name);
    await writeFile(path, '');
    const said = `${path} is not a folder, or lies in something that is none; remove it, or set QRS_DATA_DIR (EEXIST)`;
    const { code, findings } = await findingsOf(qrs);
    assert.equal(code, 1, name);
    assert.deepEqual(named(findings, check), { check, status: 'wrong', found: said });
    assert.deepEqual(await qrs.run(['serve']), { code: 1, out: '', err: `error: ${said}\n` });
  }
});

test('a catalog that is not SQLite; whatever does not need it is checked all the same', {
  skip: NO_CATALOG_FILE,
}, async (t) => {
  const qrs = await makeCommandLine(t);
  await mkdir(qrs.dataDir);
  await writeFile(join(qrs.dataDir, 'catalog.sqlite'), 'this is no database, whatever its name says'.repeat(100));
  const { code, findings } = await findingsOf(qrs);
  assert.equal(code, 1);
  assert.equal(named(findings, 'catalog')?.status, 'wrong');
  assert.match(named(findings, 'catalog')?.found ?? '', /^cannot open the catalog \S+: file is not a database/);
  assert.equal(named(findings, 'store')?.status, 'ok');
});

test('a query that took the id of a dataset: the service starts without that dataset, and the doctor says so', async (t) => {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'cy');
  {
    await using behind = await openBehind(qrs);
    const catalog = await behind.catalog();
    await catalog.queries.add({ id: 990_000_001, owner: { kind: 'user', name: 'cy' }, visibility: 'public' }, 0);
  }
  const { code, findings } = await findingsOf(qrs);
  assert.equal(code, 1);
  assert.equal(named(findings, 'query ids')?.status, 'wrong');
  assert.match(named(findings, 'query ids')?.found ?? '', /taken: 990000001 \(user cy\); not served: points$/);
  const service = await startHttpService(t, { QRS_DATA_DIR: qrs.dataDir });
  const codeOf = async (path: string) => (await service.get(path)).headers.get('x-error-code');
  assert.equal(await codeOf('/v1/points/alpha/pts'), 'route_not_found');
  assert.equal(await codeOf('/v1/restaking/avs-stats'), 'no_execution_found');
  const refused = service.observed.filter(({ kind }) => kind === 'dataset_refused');
  assert.equal(refused.length, 1);
});

test('a Trino that is away is told once, with why, and no dataset is told as wrong', async (t) => {
  const { origin } = await goneCoordinator();
  const { host } = new URL(origin);
  const qrs = await makeCommandLine(t, { QRS_ENGINE_URL: `trino://qrs@${host}/lake` });
  qrs.sleep = hurried;
  const { code, findings } = await findingsOf(qrs);
  assert.equal(code, 1);
  assert.deepEqual(named(findings, 'engine'), {
    check: 'engine',
    status: 'wrong',
    found: `Trino cannot be reached (ECONNREFUSED: connect ECONNREFUSED ${host}): the catalog lake of the Trino at ${origin}`,
    advice:
      'while that is so no query is run and no dataset refreshed, and datasets are not looked at; its address is QRS_ENGINE_URL',
  });
  assert.deepEqual(
    findings.filter(({ status }) => status === 'wrong').map(({ check }) => check),
    ['engine'],
  );
});

test('a Trino that lets the service not in is told with what to do', async (t) => {
  await using fake = await FakeCoordinator.start();
  fake.steps({ kind: 'status', status: 401 });
  const qrs = await makeCommandLine(t, { QRS_ENGINE_URL: `trino://qrs@127.0.0.1:${fake.port}/lake` });
  const { code, findings } = await findingsOf(qrs);
  assert.equal(code, 1);
  assert.equal(
    named(findings, 'engine')?.found,
    'Trino does not let the service in (status 401): it asks for a password (in QRS_ENGINE_URL) or a token (QRS_TRINO_TOKEN)',
  );
  assert.equal(fake.received.length, 1);
});

test('a lease whose owner is gone', async (t) => {
  const service = await startHttpService(t);
  const qrs = service.commandLine;
  const { leases } = await service.catalog();
  await leases.acquire('write:01HR7V4N7VD2Q9D9Z5T2T6W3M1', 'elsewhere|1|2|3', 30_000);
  assert.equal(named((await findingsOf(qrs)).findings, 'leases')?.found, '1 held, none left behind');
  qrs.now += 60_000;
  const { code, findings } = await findingsOf(qrs);
  assert.equal(code, 0);
  assert.deepEqual(named(findings, 'leases'), {
    check: 'leases',
    status: 'warning',
    found: '1 of 1 left behind by processes that are gone: write:01HR7V4N7VD2Q9D9Z5T2T6W3M1',
    advice: 'run `qrs sweep`: it ends them, and deletes what those processes had half written',
  });
  await qrs.get('sweep');
  assert.equal(named((await findingsOf(qrs)).findings, 'leases')?.status, 'ok');
});

test('a source table that is missing, one that cannot be read, and the refresh that failed because of it', async (t) => {
  const qrs = await makeCommandLine(t);
  const sources = join(qrs.dataDir, 'sources');
  await writeDemoSources(sources, { size: 'small', until: qrs.now, signal: t.signal, sleep });
  assert.equal(named((await findingsOf(qrs)).findings, 'dataset points')?.status, 'ok');

  await rm(join(sources, 'nft/trades.parquet'));
  await writeFile(join(sources, 'restaking/avs_metadata.parquet'), 'no Parquet');
  const { code, findings } = await findingsOf(qrs);
  assert.equal(code, 1);
  assert.match(
    named(findings, 'dataset points')?.found ?? '',
    /^source table nft\.trades is missing: expected nft\/trades/,
  );
  assert.match(
    named(findings, 'dataset avs-stats')?.found ?? '',
    /^source table restaking\.avs_metadata cannot be read/,
  );
  assert.equal(named(findings, 'dataset operator-stats')?.status, 'ok');

  assert.equal((await qrs.run(['datasets', 'refresh', 'points'])).code, 1);
  await writeDemoSources(sources, { size: 'small', until: qrs.now, signal: t.signal, sleep });
  assert.match(named((await findingsOf(qrs)).findings, 'dataset points')?.found ?? '', /^its last refresh failed: /);
});

test('a dataset that is refreshed no more though a replica runs', async (t) => {
  const qrs = await makeCommandLine(t, (directory) => ({ QRS_DATASETS_DIR: join(directory, 'own') }));
  const folder = join(qrs.directory, 'own/ones');
  await mkdir(folder, { recursive: true });
  const columns = [{ name: 'n', type: 'integer', about: 'one' }];
  const declaration = { title: 'Ones', path: '/v1/my/ones', query_id: 990_500_001, schedule: '0 * * * *', columns };
  await writeFile(join(folder, 'dataset.json'), JSON.stringify(declaration));
  await writeFile(join(folder, 'query.sql'), 'SELECT 1 AS n ORDER BY n');
  await qrs.get('datasets', 'refresh', 'ones');
  const ones = async () => named((await findingsOf(qrs)).findings, 'dataset ones');
  qrs.now += 3 * 3_600_000;
  assert.equal((await ones())?.status, 'ok', 'nothing runs');
  await using behind = await openBehind(qrs);
  const { replicas } = await behind.catalog();
  await replicas.beat({ id: 'a', name: 'alpha', version: '1.2.3' });
  const warning = (found: string) => ({
    check: 'dataset ones',
    status: 'warning',
    found,
    advice:
      'some process needs QRS_SCHEDULE and QRS_RUN_QUERIES; `qrs executions list --query 990500001` shows whether its runs wait',
  });
  assert.deepEqual(await ones(), warning('refreshed 3 h 0 min ago, though its schedule is "0 * * * *"'));
  qrs.now += 90 * 86_400_000;
  await replicas.beat({ id: 'a', name: 'alpha', version: '1.2.3' });
  assert.deepEqual(await ones(), warning('its last result has expired, though its schedule is "0 * * * *"'));
});

test('a mistake in a dataset of its own is found as anything else is', async (t) => {
  const qrs = await makeCommandLine(t, (directory) => ({ QRS_DATASETS_DIR: join(directory, 'own') }));
  const folder = join(qrs.directory, 'own');
  await mkdir(join(folder, 'orders'), { recursive: true });
  await writeFile(join(folder, 'orders/dataset.json'), '{\n"titel": "Orders"\n}\n');
  const { out, err } = await qrs.run(['doctor', '--json']);
  assert.equal(err, 'error: wrong: datasets\n');
  assert.deepEqual((JSON.parse(out) as readonly Finding[]).at(-1), {
    check: 'datasets',
    status: 'wrong',
    found: `${folder}/orders/dataset.json:2: titel: unknown field "titel": did you mean "title"?`,
  });
});

test('a nearly full disk is a warning, and a full one an error', () => {
  const of = (bytes: number) => roomFinding('results', '/srv/results', bytes, 'QRS_STORE_URL');
  assert.deepEqual(of(5e9), { check: 'results', status: 'ok', found: '/srv/results is writable, 5.0 GB free' });
  assert.equal(of(4.9e9).status, 'warning');
  assert.equal(of(0.1e9).status, 'wrong');
  assert.match(of(0).advice ?? '', /qrs sweep.*QRS_STORE_URL/);
});

test('results that are there and cannot be read, as after a restore by another user, are wrong', {
  skip: NO_RESULTS_FOLDER,
}, async (t) => {
  const qrs = await makeCommandLine(t);
  await qrs.get('users', 'add', 'ann');
  await qrs.get('queries', 'add', '--id', '7', '--user', 'ann');
  const publish = async () => (await qrs.run(['publish', '-', '--query', '7', '--format', 'csv'], 'n\n1\n')).out.trim();
  const [whole, closed] = [await publish(), await publish()];
  const folder = join(qrs.dataDir, 'results', closed);
  const [part = ''] = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.parquet'));
  // For everybody, whoever runs this test: a link that leads to itself is read by nobody.
  await rm(join(folder, part));
  await symlink('part-00000.parquet', join(folder, part));
  const { code, findings } = await findingsOf(qrs);
  assert.equal(code, 1);
  assert.deepEqual(named(findings, 'stored results'), {
    check: 'stored results',
    status: 'wrong',
    found: `1 with objects that cannot be read, of executions ${closed}`,
    advice:
      'give the user of the service the right to read them: a restore by another user, such as root, leaves them to that one',
  });
  await rm(join(qrs.dataDir, 'results', whole), { recursive: true });
  assert.equal(
    named((await findingsOf(qrs)).findings, 'stored results')?.found,
    `1 with objects missing from the store, of executions ${whole}; 1 with objects that cannot be read, of executions ${closed}`,
  );
});

test('files that are not ours are named, and are no error', async (t) => {
  const service = await startHttpService(t);
  const qrs = service.commandLine;
  await service.publish(7, 'n\n1\n');
  assert.equal(named((await findingsOf(qrs)).findings, 'foreign files')?.status, 'ok');
  const paths = [
    'results/mine.txt',
    'results/01HR7V4N7VD2Q9D9Z5T2T6W3M1/7/notes',
    'tmp/1999-backup/x',
    'results/staging/y',
  ];
  for (const path of paths) {
    await mkdir(join(qrs.dataDir, path, '..'), { recursive: true });
    await writeFile(join(qrs.dataDir, path), 'mine');
  }
  const { code, findings } = await findingsOf(qrs);
  assert.equal(code, 0);
  const { status, found } = named(findings, 'foreign files') ?? {};
  assert.equal(status, 'warning');
  assert.match(found ?? '', /^4 in the folders of the service: /);
  for (const name of ['mine.txt', 'notes', 'y']) assert.match(found ?? '', new RegExp(`/${name}[,]`), name);
});
