/** What is particular to the PostgreSQL catalog; what every catalog must do is in test/contract/catalog.ts. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, suite, type TestContext, test } from 'node:test';
import { Client } from 'pg';
import { addQuery, pendingRun } from '../../../test/contract/catalog/fixture.ts';
import { FakeTime } from '../../../test/fake-time.ts';
import { POSTGRES_MISSING, PostgresServer, setDatabaseClock } from '../../../test/postgres-server.ts';
import { sleep } from '../../../test/real-time.ts';
import { CatalogUnavailable } from '../../errors/catalog-unavailable.ts';
import { KeptLease } from '../../leases/kept-lease.ts';
import { examineClocks } from '../../maintenance/doctor/clocks.ts';
import type { Catalog } from '../catalog.ts';
import { migrate as migrateSqlite } from '../sqlite/migrate.ts';
import { migrate } from './migrate.ts';
import { LATEST, MIGRATIONS } from './migrations.ts';
import { openPostgresCatalog, type PostgresCatalogOptions } from './postgres-catalog.ts';

const HOUR = 3_600_000;
const NO_LIMITS = { waitingMax: 100, waitingOfKeyMax: 100 };

suite('on a server', { skip: POSTGRES_MISSING ?? false }, async () => {
  const server = await PostgresServer.start();
  after(async () => await server[Symbol.asyncDispose]());

  async function open(t: TestContext, url: string, more: Partial<PostgresCatalogOptions> = {}): Promise<Catalog> {
    const options = { monotonic: () => performance.now(), sleep, stalenessMaxMillis: 0, connectionsMax: 4, ...more };
    const catalog = await openPostgresCatalog(url, options);
    t.after(async () => await catalog[Symbol.asyncDispose]());
    return catalog;
  }

  test('processes that start at the same moment on an empty schema all get the catalog', async (t) => {
    const url = await server.newSchema();
    const catalogs = await Promise.all(Array.from({ length: 10 }, () => open(t, url)));
    await catalogs[0]?.principals.addUser('ann', 1);
    for (const catalog of catalogs)
      assert.deepEqual(await catalog.principals.listUsers(), [{ name: 'ann', createdAt: 1 }]);
  });

  test('it has the tables and columns that the catalog in SQLite has, but for what counts changes there', async (t) => {
    const url = await server.newSchema();
    await open(t, url);
    const ours = await server.run<{ column: string }>(
      `select table_name || '.' || column_name as column from information_schema.columns
       where table_schema = current_schema() and table_name <> 'catalog_version'`,
      url,
    );
    using database = new DatabaseSync(':memory:');
    await migrateSqlite(database, { clock: Date.now, sleep });
    const theirs = database
      .prepare(
        `select t.name || '.' || c.name as "column" from sqlite_schema t, pragma_table_info(t.name) c
         where t.type = 'table' and t.name <> 'changes'`,
      )
      .all();
    const sorted = (rows: readonly object[]) => rows.map((row) => (row as { column: string }).column).sort();
    assert.deepEqual(sorted(ours), sorted(theirs));
  });

  test('a catalog made by a newer release is refused and left alone', async (t) => {
    const url = await server.newSchema();
    await open(t, url);
    await server.run('update catalog_version set version = 999; update compatibility set usable_from = 999', url);
    await assert.rejects(open(t, url), {
      message: `cannot open the catalog at 127.0.0.1:${server.port}/postgres as qrs: it has version 999, made by a newer release; this one knows version ${MIGRATIONS.length} and would damage it`,
    });
  });

  test('a schema with tables of another program is refused and left alone', async (t) => {
    const url = await server.newSchema();
    await server.run('create table executions (title text)', url);
    await assert.rejects(
      open(t, url),
      /has a table "executions" that is not a catalog's: give the catalog a schema of its own/,
    );
    const tables = await server.run<{ count: string }>(
      'select count(*) from pg_tables where schemaname = current_schema()',
      url,
    );
    assert.deepEqual(tables, [{ count: '1' }]);
  });

  test('a server that is not there, or refuses the password, is an error that names the place and no password', async (t) => {
    await assert.rejects(open(t, 'postgres://qrs:s3cret@127.0.0.1:1/none'), (error: Error) => {
      assert.match(error.message, /^cannot open the catalog at 127\.0\.0\.1:1\/none as qrs: connect ECONNREFUSED/);
      assert.doesNotMatch(error.message, /s3cret/);
      return true;
    });
    const wrong = (await server.newSchema()).replace(/:[^:@]*@/, ':wr0ng@');
    await assert.rejects(open(t, wrong), (error: Error) => {
      assert.match(error.message, /password authentication failed for user "qrs"$/);
      assert.doesNotMatch(error.message, /wr0ng/);
      return true;
    });
  });

  test('a replica goes on while a newer release adds to the catalog; what it could not go on with waits for its end', async (t) => {
    const url = await server.newSchema();
    const older = await open(t, url);
    await older.replicas.beat({ id: 'r1', name: 'web-1', version: '0.1.0' });
    const client = new Client({ connectionString: url });
    await client.connect();
    t.after(async () => await client.end());
    const added = {
      number: LATEST + 1,
      name: 'adds',
      script: 'create table more (x bigint)',
      olderGoOn: true,
    } as const;
    const changed = { number: LATEST + 2, name: 'changes', script: 'alter table usage rename column bytes to octets' };
    await migrate(client, [...MIGRATIONS, added]);
    await older.check();
    await older.principals.addUser('ann', 1);
    await open(t, url);
    await assert.rejects(migrate(client, [...MIGRATIONS, added, changed]), {
      message: `it cannot be brought to version ${LATEST + 2} while replicas of an older release run, which could not go on: web-1 (0.1.0); stop them first, or wait half a minute if they died`,
    });
    await older.check();
    await older.replicas.remove('r1');
    await migrate(client, [...MIGRATIONS, added, changed]);
    await assert.rejects(older.check(), /made by a newer release; this one knows version/);
    await assert.rejects(open(t, url), /made by a newer release/);
  });

  test('a step of a migration that fails takes nothing with it', async () => {
    const client = new Client({ connectionString: await server.newSchema() });
    await client.connect();
    try {
      const steps = [
        { number: 1, name: 'good', script: 'create table a (x int)' },
        { number: 2, name: 'bad', script: 'create table b (x int); create table a (x int)' },
      ];
      const tables = async () =>
        (await client.query('select tablename from pg_tables where schemaname = current_schema()')).rows;
      await assert.rejects(migrate(client, steps), /relation "a" already exists/);
      assert.deepEqual(await tables(), []);
      await migrate(client, steps.slice(0, 1));
      await assert.rejects(migrate(client, steps), /relation "a" already exists/);
      assert.deepEqual((await client.query('select version from catalog_version')).rows, [{ version: '1' }]);
    } finally {
      await client.end();
    }
  });

  test('within the bound the database is not asked; after it, it is; when it cannot be, that is an error', async (t) => {
    const time = new FakeTime(1_709_671_859_000);
    const url = await server.newSchema();
    // The heartbeat sleeps for ever, so only this test makes queries.
    const asleep = (_: number, signal: AbortSignal) =>
      new Promise<void>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const catalog = await open(t, url, { monotonic: time.clock, sleep: asleep, stalenessMaxMillis: 1000 });
    const version = await catalog.version();
    await server.kill();
    await time.advance(999);
    assert.equal(catalog.version(), version, 'answers from memory go on');
    await time.advance(1);
    await assert.rejects(async () => await catalog.version(), CatalogUnavailable);
    await assert.rejects(catalog.queries.find(7), CatalogUnavailable);
    await assert.rejects(catalog.principals.addUser('ann', 1), CatalogUnavailable);
    await assert.rejects(catalog.check(), { message: 'it cannot be reached' });
    await server.resume();
    // What was committed meanwhile was notified to nobody.
    assert((await catalog.version()) > version);
    await catalog.principals.addUser('ann', 1);
    await catalog.check();
    await catalog.verify();
  });

  test('where others have taken all other connections, it goes on with those that it has, and takes more when there are some', async (t) => {
    await using small = await PostgresServer.start({ max_connections: '10', superuser_reserved_connections: '3' });
    await small.run("create role app login password 'app'; grant create on database postgres to app");
    const schema = await small.newSchema();
    await small.run('grant all on schema public to app; alter role app set search_path = public', schema);
    const url = small.address.replace(/qrs:[^@]*@/, 'app:app@');
    const time = new FakeTime(0);
    const catalog = await open(t, url, { monotonic: time.clock, connectionsMax: 4 });
    await addQuery(catalog);
    await catalog.version();
    const others: Client[] = [];
    for (;;) {
      const client = new Client({ connectionString: url });
      client.on('error', () => undefined);
      try {
        await client.connect();
        others.push(client);
      } catch {
        break;
      }
    }
    const ofOurs = async () => {
      const text = `select count(*)::int as count from pg_stat_activity where application_name = 'query-results-service'`;
      return (await small.run<{ count: number }>(text))[0]?.count;
    };
    // One of them listens.
    assert.equal(await ofOurs(), 2);
    const askAll = async () => {
      const asked = Array.from({ length: 8 }, async () => await catalog.queries.find(7));
      await Promise.all([...asked, catalog.check(), catalog.queries.update(7, { name: 'x' }, 1), catalog.check()]);
    };
    await askAll();
    assert.equal(await ofOurs(), 2);
    await Promise.all(others.splice(0).map(async (client) => await client.end()));
    await time.advance(1000);
    await askAll();
    assert.equal(await ofOurs(), 5);
  });

  test('a database that takes no writes is told to be that, not to be away', async (t) => {
    await using strict = await PostgresServer.start();
    const catalog = await open(t, await strict.newSchema());
    await addQuery(catalog);
    await strict.run(`alter system set default_transaction_read_only = on`);
    await strict.run('select pg_reload_conf()');
    const takesWrites = async () =>
      await catalog.queries.update(7, { name: 'x' }, 1).then(
        () => true,
        () => false,
      );
    while (await takesWrites()) await sleep(1, t.signal);
    await assert.rejects(catalog.queries.update(7, { name: 'x' }, 1), {
      name: 'CatalogUnavailable',
      message: 'the catalog takes no changes at the moment: its database is read-only',
    });
    await assert.rejects(catalog.check(), { message: 'it takes no changes: its database is read-only' });
    assert.equal((await catalog.queries.find(7))?.id, 7);
  });

  test('a commit of this process is known at once, within the bound too; one of another is notified', async (t) => {
    const url = await server.newSchema();
    const bound = { stalenessMaxMillis: 3_600_000 };
    const [first, second] = [await open(t, url, bound), await open(t, url, bound)];
    const before = [await first.version(), await second.version()] as const;
    await first.principals.addUser('ann', 1);
    assert((await first.version()) > before[0]);
    // Waits for the server's notification. No query is made.
    while ((await second.version()) === before[1]) await sleep(1, t.signal);
  });

  test('leases, claims and ticks go by the clock of the database, whatever the clocks of the hosts say', async (t) => {
    const url = await server.newSchema();
    const catalog = await open(t, url);
    const start = await catalog.now();
    assert(Math.abs(start - Date.now()) < 60_000, 'until a test sets it, it is that of the machine');
    await addQuery(catalog);
    const [behind, ahead] = [start - HOUR, start + HOUR];
    const submitted = { ...pendingRun(1), submittedAt: ahead };
    await catalog.runs.enqueue({ execution: submitted, sql: 'select 1', values: [] }, NO_LIMITS);
    const host = async (now: number) => ({ catalog: await open(t, url), clock: () => now, sleep, leaseMillis: 30_000 });
    const hosts = [await host(behind), await host(ahead)] as const;
    const claim = (index: 0 | 1) =>
      hosts[index].catalog.runs.claim({
        ...{ owner: `host ${index}`, at: hosts[index].clock(), leaseMillis: 30_000, runningOfKeyMax: 9 },
      });
    await setDatabaseClock(url, start);
    await using held = await KeptLease.acquire('write:a', { during: '' }, { ...hosts[0], owner: 'host 0' });
    assert.equal(held?.current.expiresAt, start + 30_000);
    assert.equal((await claim(0))?.execution.id, submitted.id);
    await setDatabaseClock(url, start + 29_999);
    assert.equal(await claim(1), undefined, 'by its own clock the lease ended two hours ago');
    assert.equal(await hosts[1].catalog.leases.acquire('write:a', 'host 1', 30_000), undefined);
    assert.equal(await hosts[1].catalog.ticks.claim('daily', ahead), false);
    assert.equal(await hosts[0].catalog.ticks.claim('daily', start), true, 'a tick an hour ahead is of a wrong clock');
    await setDatabaseClock(url, start + 30_000);
    assert.equal((await claim(1))?.claims, 2);
  });

  test('the doctor says how far this host and the database are apart', async (t) => {
    const url = await server.newSchema();
    const catalog = await open(t, url);
    const now = await catalog.now();
    await setDatabaseClock(url, now);
    const found = async (clock: number) => {
      const { status, found } = await examineClocks(catalog, () => clock);
      return `${status}: ${found}`;
    };
    assert.equal(await found(now + 999), 'ok: this host and the catalog agree to a second');
    assert.equal(await found(now + 90_000), "warning: this host is 90 s ahead of the catalog's database");
    assert.equal(await found(now - HOUR), "wrong: this host is 3600 s behind the catalog's database");
  });

  test('a run that is cancelled while another process fails it is told to be cancelled, and not that it can be', async (t) => {
    const url = await server.newSchema();
    const catalog = await open(t, url);
    await addQuery(catalog);
    const { id } = pendingRun(1);
    await catalog.runs.enqueue({ execution: pendingRun(1), sql: 'select 1', values: [] }, NO_LIMITS);
    const other = new Client({ connectionString: url });
    await other.connect();
    t.after(async () => await other.end());
    // Cancelling takes no lock that keeps others from reading: this stands for a cancelling that comes between two reads.
    await other.query('begin; lock table executions in access exclusive mode');
    const refused = assert.rejects(catalog.executions.fail(id, { type: 'x', message: 'y' }, 1), {
      from: 'CANCELLED',
      message: `execution ${id} is CANCELLED: it cannot become FAILED`,
    });
    const waiting = `select 1 from pg_locks where not granted and relation = 'executions'::regclass`;
    while ((await server.run(waiting, url)).length === 0) await sleep(1, t.signal);
    await other.query(`update executions set state = 'CANCELLED', cancelled_at = 1; commit`);
    await refused;
  });

  test('a server set to another isolation of transactions refuses none of those that wait for each other', async (t) => {
    await using strict = await PostgresServer.start({ default_transaction_isolation: 'serializable' });
    const url = await strict.newSchema();
    const catalogs = await Promise.all([open(t, url), open(t, url), open(t, url), open(t, url)]);
    await addQuery(catalogs[0]);
    const changed = catalogs.flatMap((catalog) =>
      Array.from({ length: 5 }, async (_, at) => await catalog.queries.update(7, { name: `of ${at}` }, 1)),
    );
    // The first version, and one for each change.
    assert.deepEqual(
      (await Promise.all(changed)).map(({ version }) => version).sort((a, b) => a - b),
      Array.from({ length: 20 }, (_, index) => index + 2),
    );
    // A statement alone, as replicas that are asked whether they are ready.
    await Promise.all(catalogs.flatMap((catalog) => [catalog.check(), catalog.check(), catalog.check()]));
  });

  test('a text with NUL, which PostgreSQL cannot keep, is refused as such', async (t) => {
    const catalog = await open(t, await server.newSchema());
    const refused = { name: 'TextRefused', message: 'a text holds the character NUL, which the catalog cannot keep' };
    await assert.rejects(catalog.executions.findLatest(7, { chain: 'a\0' }, 1), refused);
    await assert.rejects(catalog.principals.addTeam('a\0', [], 1), refused);
  });

  test('a process that stops in the middle of a transaction does not hold up the others for ever', async (t) => {
    const url = await server.newSchema();
    const catalog = await open(t, url);
    const stopped = new Client({ connectionString: url, idle_in_transaction_session_timeout: 50 });
    stopped.on('error', () => undefined);
    await stopped.connect();
    // In one message: were this process held up between two, the server would end the transaction before it had the lock.
    await stopped.query(`begin; select pg_advisory_xact_lock(${0x51525343}, hashtext(current_schema()))`);
    await catalog.principals.addTeam('crew', [], 1);
    assert.deepEqual(
      (await catalog.principals.listTeams()).map(({ name }) => name),
      ['crew'],
    );
    await stopped.end().catch(() => undefined);
  });

  test('after a restart of the database, its dead connections fail no read', async (t) => {
    const url = await server.newSchema();
    const catalog = await open(t, url);
    await Promise.all(Array.from({ length: 4 }, () => catalog.queries.find(7)));
    await server.kill('SIGTERM').then(() => server.resume());
    assert.equal(await catalog.queries.find(7), undefined);
    await catalog.principals.addTeam('crew', [], 1);
  });

  test('while the server takes no writes, as a standby, a write may be tried again, and reaches a new connection', async (t) => {
    const catalog = await open(t, await server.newSchema(), { connectionsMax: 1 });
    const takeWrites = async () =>
      void (await server.run('begin read write; alter role qrs reset default_transaction_read_only; commit'));
    t.after(takeWrites);
    // Sessions have it from their beginning.
    await server.run('alter role qrs set default_transaction_read_only = on');
    await server.run('select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()');
    await assert.rejects(catalog.principals.addTeam('crew', [], 1), CatalogUnavailable);
    await takeWrites();
    await catalog.principals.addTeam('crew', [], 1);
  });
});
