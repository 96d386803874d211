/**
 * A rolling upgrade (decision 35), with packages of earlier releases: a replica of theirs and one of today's share a catalog in PostgreSQL and
 * a store; then the older one is replaced.
 */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { QRS, type Replica } from '../../cluster/replica.ts';
import { migrate } from '../../src/catalog/postgres/migrate.ts';
import { LATEST, MIGRATIONS } from '../../src/catalog/postgres/migrations.ts';
import { type EarlierRelease, makeRelease, RELEASES, RELEASES_MISSING } from '../earlier-release.ts';
import { POSTGRES_MISSING, PostgresServer } from '../postgres-server.ts';
import { sleep } from '../real-time.ts';
import { ask, rowsOf, SharedSettings } from './release-commands.ts';

/** A step of a release to come, which programs of today do not survive. */
const BREAKING = { number: LATEST + 1, name: 'changes', script: 'alter table usage rename column bytes to octets' };
const VERSION = '0.1.0';

async function post(replica: Replica, key: string, path: string, body: string, type: string): Promise<string> {
  const { status, text } = await ask(replica, key, path, { method: 'POST', body, headers: { 'content-type': type } });
  assert.ok(status === 200 || status === 201, `${path}: ${status} ${text}`);
  return JSON.parse(text).execution_id;
}

/** The rows of a run, when it has ended. */
async function rowsOfRun(replica: Replica, key: string, id: string): Promise<unknown> {
  for (;;) {
    const { text } = await ask(replica, key, `/v1/execution/${id}/status`);
    if (JSON.parse(text).is_execution_finished === true) break;
    await sleep(20, AbortSignal.timeout(60_000));
  }
  return await rowsOf(replica, key, `/v1/execution/${id}/results`);
}

function withReleases(names: readonly (keyof typeof RELEASES)[]): ReadonlyMap<string, EarlierRelease> {
  const made = new Map<string, EarlierRelease>();
  after(() => {
    for (const release of made.values()) release[Symbol.dispose]();
  });
  for (const name of names) made.set(name, makeRelease(RELEASES[name]));
  return made;
}

/** Publishes, reads, runs and sweeps through each of them, and reads what it did through each. */
async function useInTurns(given: SharedSettings, replicas: readonly [Replica, string][], key: string, round: number) {
  for (const [index, [by, program]] of replicas.entries()) {
    const n = 10 * round + index;
    const published = await post(by, key, '/v1/query/7/results', `n,t\n${n},"a ""b"""\n,\n`, 'text/csv');
    const run = await post(by, key, '/v1/query/8/execute', `{"query_parameters":{"n":${n}}}`, 'application/json');
    for (const [reader] of replicas) {
      assert.deepEqual(await rowsOf(reader, key, '/v1/query/7/results'), [
        { n, t: 'a "b"' },
        { n: null, t: null },
      ]);
      assert.deepEqual(await rowsOf(reader, key, '/v1/query/7/results?filters=n%20is%20null&columns=t'), [{ t: null }]);
      assert.deepEqual(await rowsOfRun(reader, key, run), [{ twice: 2 * n }]);
    }
    given.run(program, ['sweep']);
    for (const [reader] of replicas) {
      assert.equal((await ask(reader, key, `/v1/execution/${published}/results`)).status, 200, 'nothing was lost');
    }
  }
}

const named = (name: string) => ({ QRS_REPLICA_NAME: name });

const isSkipped = RELEASES_MISSING ?? POSTGRES_MISSING ?? false;

suite('two releases on one catalog in PostgreSQL', { skip: isSkipped }, async () => {
  const releases = withReleases(['withHeartbeats', 'withoutHeartbeats']);
  const server = await PostgresServer.start();
  after(async () => await server[Symbol.asyncDispose]());

  async function install(t: TestContext, program: string) {
    const url = await server.newSchema();
    const given = new SharedSettings(t, (folder) => ({
      QRS_CATALOG_URL: url,
      QRS_CATALOG_STALENESS: '0.001',
      QRS_STORE_URL: `file:${join(folder, 'store')}`,
      QRS_SOURCES_DIR: join(folder, 'sources'),
    }));
    mkdirSync(join(given.folder, 'sources'));
    given.run(program, ['users', 'add', 'ann']);
    const key = given.run(program, ['keys', 'create', '--user', 'ann', '--scope', 'write']);
    given.run(program, ['queries', 'add', '--id', '7', '--user', 'ann']);
    const file = join(given.folder, 'twice.sql');
    writeFileSync(file, 'select 2 * {{n}} as twice');
    given.run(program, ['queries', 'add', '--id', '8', '--user', 'ann', '--sql', file, '--parameter', 'n:number=1']);
    const migrateWith = async (steps: typeof MIGRATIONS) => {
      const client = new Client({ connectionString: url });
      await client.connect();
      try {
        await migrate(client, steps);
      } finally {
        await client.end();
      }
    };
    return { given, key, migrateWith };
  }

  test('both serve, publish, run and sweep; a step that the older one would not survive is refused while it lives, and names it', async (t) => {
    const older = releases.get('withHeartbeats')?.program ?? assert.fail();
    const { given, key, migrateWith } = await install(t, older);
    const old = await given.serve('web-old', older, named('web-old'));
    const current = await given.serve('web-new', QRS, named('web-new'));
    const inTurns: [Replica, string][] = [
      [old, older],
      [current, QRS],
    ];
    await useInTurns(given, inTurns, key, 1);
    for (const { url } of [old, current]) assert.equal((await fetch(`${url}/readyz`)).status, 200);
    const found = JSON.parse(given.run(QRS, ['doctor', '--json'])) as readonly { check: string; found: string }[];
    assert.match(found.find(({ check }) => check === 'replicas')?.found ?? '', /^2 replicas running: .*web-old/);

    const refused = (names: string) => ({
      message: `it cannot be brought to version ${LATEST + 1} while replicas of an older release run, which could not go on: ${names}; stop them first, or wait half a minute if they died`,
    });
    await assert.rejects(migrateWith([...MIGRATIONS, BREAKING]), refused(`web-new (${VERSION}), web-old (${VERSION})`));
    await current.stop();
    await assert.rejects(migrateWith([...MIGRATIONS, BREAKING]), refused(`web-old (${VERSION})`));

    assert.equal((await fetch(`${old.url}/readyz`)).status, 200, 'what was refused has changed nothing');
    assert.equal((await ask(old, key, '/v1/query/7/results')).status, 200);
    await old.stop();
    const upgraded = await given.serve('web-old', QRS, named('web-old'));
    await useInTurns(given, [[upgraded, QRS]], key, 2);
    await upgraded.stop();
    await migrateWith([...MIGRATIONS, BREAKING]);
    for (const program of [older, QRS]) {
      const { code, out, err } = given.tryTo(program, ['keys', 'list']);
      assert.deepEqual([code, out], [1, '']);
      assert.match(err, /made by a newer release; this one knows version \d+ and would damage it/);
    }
  });

  test('a release whose replicas leave no trace cannot be seen: its catalog is migrated, it goes on as long as it runs, and says that it should not', async (t) => {
    const older = releases.get('withoutHeartbeats')?.program ?? assert.fail();
    const { given, key } = await install(t, older);
    const old = await given.serve('web-old', older);
    await post(old, key, '/v1/query/7/results', 'n\n1\n', 'text/csv');
    const current = await given.serve('web-new', QRS, named('web-new'));
    const inTurns: [Replica, string][] = [
      [old, QRS],
      [current, QRS],
    ];
    await useInTurns(given, inTurns, key, 1);
    const ready = await fetch(`${old.url}/readyz`);
    assert.equal(ready.status, 503, 'a balancer sends it no more requests');
    assert.match(await ready.text(), /it has version \d+, made by a newer release; this one knows version 2/);
    await old.stop();
    const { code, err } = given.tryTo(older, ['keys', 'list']);
    assert.equal(code, 1);
    assert.match(err, /made by a newer release; this one knows version 2 and would damage it/);
    await useInTurns(given, [[current, QRS]], key, 2);
  });
});
