/** What only the SQLite catalog does. What every catalog must do is in test/contract/catalog.ts. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { Kysely, sql } from 'kysely';
import { FakeTime } from '../../../test/fake-time.ts';
import { sleep } from '../../../test/real-time.ts';
import { KyselyBrowsing } from '../kysely/browsing.ts';
import { KyselyExecutions } from '../kysely/executions.ts';
import type { CatalogTables } from '../kysely/tables.ts';
import { NodeSqliteDialect } from './dialect.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS } from './migrations.ts';
import { openSqliteCatalog } from './sqlite-catalog.ts';
import { SqliteWriter } from './writer.ts';

async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-sqlite-'));
  t.after(async () => await rm(directory, { recursive: true, force: true }));
  return directory;
}

test('the files of a new catalog are for their owner alone', async (t) => {
  const directory = join(await temporaryDirectory(t), 'new', 'data');
  await using catalog = await openSqliteCatalog(join(directory, 'catalog.sqlite'), { clock: Date.now, sleep });
  await catalog.principals.addUser('ann', 0);
  assert.equal((await stat(directory)).mode & 0o777, 0o700);
  const files = await readdir(directory);
  assert.deepEqual(files.sort(), ['catalog.sqlite', 'catalog.sqlite-shm', 'catalog.sqlite-wal']);
  for (const file of files) assert.equal((await stat(join(directory, file))).mode & 0o777, 0o600, file);
});

test('a catalog made by a newer release is refused and left alone', async (t) => {
  const path = join(await temporaryDirectory(t), 'catalog.sqlite');
  await (await openSqliteCatalog(path, { clock: Date.now, sleep }))[Symbol.asyncDispose]();
  const database = new DatabaseSync(path);
  database.exec('pragma user_version = 999; update compatibility set usable_from = 999');
  database.close();
  await assert.rejects(openSqliteCatalog(path, { clock: Date.now, sleep }), {
    message: `cannot open the catalog ${path}: it has version 999, made by a newer release; this one knows version ${MIGRATIONS.length} and would damage it`,
  });
});

test('a file that is not a SQLite database is refused', async (t) => {
  const directory = await temporaryDirectory(t);
  const text = join(directory, 'text');
  await writeFile(text, 'name,price\n'.repeat(1000));
  await assert.rejects(openSqliteCatalog(text, { clock: Date.now, sleep }), {
    message: `cannot open the catalog ${text}: file is not a database`,
  });
  const other = join(directory, 'other');
  const database = new DatabaseSync(other);
  database.exec('create table songs (title)');
  database.close();
  await assert.rejects(openSqliteCatalog(other, { clock: Date.now, sleep }), {
    message: `cannot open the catalog ${other}: it is a database of another program`,
  });
});

test('a folder in the place of the file or of its log is named', async (t) => {
  const path = join(await temporaryDirectory(t), 'catalog.sqlite');
  for (const folder of [path, `${path}-wal`, `${path}-shm`]) {
    await mkdir(folder);
    await assert.rejects(openSqliteCatalog(path, { clock: Date.now, sleep }), {
      message: `cannot open the catalog ${path}: ${folder} is a folder`,
    });
    await rm(folder, { recursive: true });
  }
});

test('a failed step of a migration leaves nothing behind', async () => {
  using database = new DatabaseSync(':memory:');
  const steps = [
    { number: 1, name: 'good', script: 'create table a (x)' },
    { number: 2, name: 'bad', script: 'create table b (x); create table a (x)' },
  ];
  await assert.rejects(migrate(database, { clock: Date.now, sleep }, steps), /table a already exists/);
  assert.deepEqual(database.prepare('select name from sqlite_schema').all(), []);
  await migrate(database, { clock: Date.now, sleep }, steps.slice(0, 1));
  await assert.rejects(migrate(database, { clock: Date.now, sleep }, steps), /table a already exists/);
  assert.equal(database.prepare('pragma user_version').get()?.user_version, 1);
});

test('processes that open a new catalog at the same moment all get it', async (t) => {
  const path = join(await temporaryDirectory(t), 'catalog.sqlite');
  const [catalogModule, timeModule] = ['./sqlite-catalog.ts', '../../../test/real-time.ts'].map((module) =>
    JSON.stringify(new URL(module, import.meta.url).href),
  );
  const script = `
    const { openSqliteCatalog } = await import(${catalogModule});
    const { sleep } = await import(${timeModule});
    const catalog = await openSqliteCatalog(process.argv[1], { clock: Date.now, sleep });
    await catalog.principals.addUser('u' + process.pid, 0);
    await catalog[Symbol.asyncDispose]();`;
  const children = [1, 2, 3].map(() =>
    spawn(process.execPath, ['--input-type=module', '-e', script, path], { stdio: ['ignore', 'ignore', 'inherit'] }),
  );
  const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]));
  assert.deepEqual(codes, [0, 0, 0]);
  await using catalog = await openSqliteCatalog(path, { clock: Date.now, sleep });
  assert.equal((await catalog.principals.listUsers()).length, 3);
});

test('to open a catalog again in one process does not give up the locks of the first', async (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux tells which locks there are');
  const path = join(await temporaryDirectory(t), 'catalog.sqlite');
  await using first = await openSqliteCatalog(path, { clock: Date.now, sleep });
  await first.principals.addUser('ann', 0);
  const { ino } = await stat(path);
  const isLocked = async () => (await readFile('/proc/locks', 'utf8')).includes(`:${ino} `);
  assert.equal(await isLocked(), true);
  // Whoever else finds it without a lock may take away the log that the first writes to: SQLite before 3.51 does.
  await using second = await openSqliteCatalog(path, { clock: Date.now, sleep });
  assert.equal(await isLocked(), true);
  await second.check();
});

test('a catalog that another process has locked is opened when it is free', async (t) => {
  const path = join(await temporaryDirectory(t), 'catalog.sqlite');
  using other = new DatabaseSync(path);
  other.exec('begin exclusive');
  const time = new FakeTime(0);
  const waiting = time.nextSleep();
  const opening = openSqliteCatalog(path, { clock: Date.now, sleep: time.sleep });
  await waiting;
  other.exec('rollback');
  time.advance(1);
  await using catalog = await opening;
  assert.deepEqual(await catalog.principals.listUsers(), []);
});

test("waiting for another process's lock does not stop the event loop", async (t) => {
  const path = join(await temporaryDirectory(t), 'catalog.sqlite');
  await using catalog = await openSqliteCatalog(path, { clock: Date.now, sleep });
  using other = new DatabaseSync(path);
  other.exec('begin immediate');
  let done = false;
  const write = catalog.principals.addUser('ann', 0).then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(done, false);
  other.exec('commit');
  await write;
  assert.equal((await catalog.principals.listUsers()).length, 1);
});

test('a slow commit does not hold up reads', async (t) => {
  const path = join(await temporaryDirectory(t), 'catalog.sqlite');
  await using catalog = await openSqliteCatalog(path, { clock: Date.now, sleep, commitMillis: 2000 });
  let isDone = false;
  const write = catalog.principals.addUser('ann', 0).then(() => {
    isDone = true;
  });
  const version = catalog.version();
  for (let turn = 0; turn < 5; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(await catalog.principals.listUsers(), []);
    assert.equal(catalog.version(), version);
    assert.equal(isDone, false);
  }
  await write;
  assert.equal((await catalog.principals.listUsers()).length, 1);
});

test('writers take turns, and a failed transaction leaves nothing behind and lets the next one write', async (t) => {
  const path = join(await temporaryDirectory(t), 'catalog.sqlite');
  await using catalog = await openSqliteCatalog(path, { clock: Date.now, sleep });
  const outcomes = await Promise.allSettled([
    catalog.principals.addTeam('crew', ['nobody'], 0),
    catalog.principals.addUser('ann', 0),
    catalog.principals.addTeam('crew', ['ann'], 0),
    catalog.principals.addUser('ann', 0),
  ]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled', 'rejected'],
  );
  assert.deepEqual((await catalog.principals.listTeams())[0]?.members, ['ann']);
});

test('a refresh that an older release was running has failed and is due again; other ticks of datasets are kept', async (t) => {
  const path = join(await temporaryDirectory(t), 'catalog.sqlite');
  const database = new DatabaseSync(path);
  await migrate(database, { clock: Date.now, sleep }, MIGRATIONS.slice(0, 8));
  const [left, theirs] = ['01HR7ZZZZZZZZZZZZZZZZZZZZA', '01HR7ZZZZZZZZZZZZZZZZZZZZB'];
  database.exec(`
    insert into teams values ('curated-datasets', 0);
    insert into queries (id, name, team_name, visibility, created_at) values
      (990000001, 'points', 'curated-datasets', 'public', 0), (990000002, 'operator-stats', 'curated-datasets', 'public', 0);
    insert into ticks values ('refresh:points', 1000), ('refresh:operator-stats', 2000), ('refresh:gone', 3000), ('sweep', 4000);
    insert into executions (id, query_id, parameters, state, submitted_at, started_at) values
      ('${left}', 990000001, '{}', 'EXECUTING', 1000, 1001), ('${theirs}', 990000001, '{}', 'EXECUTING', 1000, 1001);
    insert into leases values ('refresh:points', 'a', 1, 5000), ('refreshing:points:${left}', 'a', 2, 5000), ('write:${left}', 'a', 3, 5000);`);
  database.close();
  await using catalog = await openSqliteCatalog(path, { clock: Date.now, sleep });
  const found = [await catalog.executions.find(left), await catalog.executions.find(theirs)];
  assert.deepEqual(
    found.map((execution) => [execution?.state, execution?.error?.type]),
    [
      ['FAILED', 'interrupted'],
      ['EXECUTING', undefined],
    ],
  );
  const ticks = ['query:990000001', 'query:990000002', 'refresh:points', 'sweep'];
  assert.deepEqual(await Promise.all(ticks.map((schedule) => catalog.ticks.findLast(schedule))), [
    undefined,
    2000,
    undefined,
    4000,
  ]);
  assert.deepEqual(
    (await catalog.leases.list('')).map(({ resource }) => resource),
    [`write:${left}`],
  );
});

test('the check reports a migration by a newer release, a replaced file, and commits that do not go through', async (t) => {
  const path = join(await temporaryDirectory(t), 'catalog.sqlite');
  await using catalog = await openSqliteCatalog(path, { clock: Date.now, sleep });
  await catalog.check();
  {
    using other = new DatabaseSync(path);
    other.exec('pragma user_version = 999; update compatibility set usable_from = 999');
    await assert.rejects(catalog.check(), /made by a newer release/);
    other.exec(`pragma user_version = ${MIGRATIONS.length}`);
    await catalog.check();
    // As on a failing disk: the statement fails at its commit.
    other.exec(`create trigger refuse before update on probes begin select raise(abort, 'disk I/O error'); end`);
    await assert.rejects(catalog.check(), /disk I\/O error/);
  }
  await rename(path, `${path}.away`);
  await assert.rejects(catalog.check(), /is gone, or is another than was opened/);
  await writeFile(path, '');
  await assert.rejects(catalog.check(), /is gone, or is another than was opened/);
});

for (const ending of ['-wal', '-shm']) {
  test(`a catalog whose file with the ending ${ending} was removed takes no more commits; what it had committed is kept`, async (t) => {
    const path = join(await temporaryDirectory(t), 'catalog.sqlite');
    {
      await using catalog = await openSqliteCatalog(path, { clock: Date.now, sleep });
      await catalog.principals.addUser('ann', 0);
      await rm(path + ending);
      await assert.rejects(catalog.check(), /log is gone, or is another than was opened/);
      const refused =
        /^Error: the catalog takes no commits: .*log is gone, .*; stop all that use it, and then start it$/;
      await assert.rejects(catalog.principals.addUser('bob', 0), refused);
      await assert.rejects(catalog.principals.addTeam('crew', ['ann'], 0), refused);
      assert.deepEqual(await catalog.principals.listUsers(), [{ name: 'ann', createdAt: 0 }]);
    }
    await using again = await openSqliteCatalog(path, { clock: Date.now, sleep });
    await again.verify();
    assert.deepEqual(await again.principals.listUsers(), [{ name: 'ann', createdAt: 0 }]);
    await again.principals.addUser('bob', 0);
  });
}

test('a catalog whose folder was moved, and is found by a link in its place, goes on', async (t) => {
  const directory = await temporaryDirectory(t);
  const [data, moved] = [join(directory, 'data'), join(directory, 'moved')];
  await using catalog = await openSqliteCatalog(join(data, 'catalog.sqlite'), { clock: Date.now, sleep });
  await catalog.principals.addUser('ann', 0);
  await rename(data, moved);
  await symlink(moved, data);
  await catalog.principals.addUser('bob', 0);
  await catalog.check();
});

test('any overwritten page of the file is found', async (t) => {
  const directory = await temporaryDirectory(t);
  const path = join(directory, 'catalog.sqlite');
  {
    await using catalog = await openSqliteCatalog(path, { clock: Date.now, sleep });
    for (let number = 0; number < 60; number += 1) await catalog.principals.addUser(`user-${number}`, 0);
    await catalog.verify();
  }
  const whole = await readFile(path);
  const pageBytes = whole.readUInt16BE(16);
  assert.ok(whole.length / pageBytes > 20);
  for (let page = 1; page < whole.length / pageBytes; page += 1) {
    const damaged = join(directory, `damaged-${page}.sqlite`);
    await writeFile(damaged, Buffer.from(whole).fill(0xff, page * pageBytes, (page + 1) * pageBytes));
    const look = async () => {
      await using catalog = await openSqliteCatalog(damaged, { clock: Date.now, sleep });
      await catalog.verify();
    };
    await assert.rejects(look, `page ${page + 1}`);
  }
});

test('every way to look for runs walks an index, however many runs there are', async (t) => {
  const texts: { sql: string; parameters: readonly unknown[] }[] = [];
  const database = new DatabaseSync(':memory:');
  await migrate(database, { clock: Date.now, sleep });
  // Nothing is written, so no such file is made.
  const writer = new SqliteWriter({ path: '/none', files: [], busyMillis: 0, commitMillis: 0 });
  const db = new Kysely<CatalogTables>({
    dialect: new NodeSqliteDialect({ reader: database, writer, sleep }),
    log: ({ query }) => {
      texts.push({ sql: query.sql, parameters: query.parameters });
    },
  });
  t.after(async () => await db.destroy());
  const executions = new KyselyExecutions(db, () => sql<number>`${0}`);
  await executions.findLatest(7, {}, 0);
  await executions.findLatest(7, { chain: 'base', day: '1' }, 0);
  await executions.findLatest(7, {}, 0, ['a', 'b']);
  await executions.findLatest(7, { chain: 'base' }, 0, ['a', 'b']);
  const browsing = new KyselyBrowsing(db);
  for (const parameters of [{}, { chain: 'base', day: '1' }]) {
    await browsing.findLatestAsOf({ queryId: 7, parameters, asOf: 0, now: 0 }, ['a']);
    await browsing.listOldestStored({ queryId: 7, parameters, now: 0 }, 3);
  }
  await executions.list({ limit: 10 });
  await executions.list({ limit: 10, queryId: 7 });
  await executions.list({ limit: 10, state: 'PENDING' });
  await executions.list({ limit: 10, queryId: 7, state: ['COMPLETED', 'COMPLETED_PARTIAL'] });
  await executions.listExpired(0, 10);
  await executions.listStored('', 10);
  await executions.queuePosition({ id: 'a', queryId: 7, parameters: {}, state: 'PENDING', submittedAt: 0 });
  const plans = texts.map(({ sql, parameters }) =>
    database
      .prepare(`explain query plan ${sql}`)
      .all(...(parameters as string[]))
      .map((row) => String(row.detail)),
  );
  assert.equal(plans.length, 22);
  for (const step of plans.flat()) {
    // Only say that the steps that follow are carried out for each run, or are several that search.
    if (/^(CORRELATED SCALAR SUBQUERY|MULTI-INDEX OR|INDEX \d)/.test(step)) continue;
    // A list of all runs walks its index from the newest; every other search starts inside an index. Nothing is sorted.
    assert.match(step, /^SEARCH .* USING|^SCAN executions USING INDEX executions_newest$/);
  }
});
