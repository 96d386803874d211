/** Two releases on one catalog in SQLite: which steps of the newer one may be taken while the older one runs. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { sleep } from '../../../test/real-time.ts';
import { migrate } from './migrate.ts';
import { LATEST, MIGRATIONS } from './migrations.ts';
import { openSqliteCatalog } from './sqlite-catalog.ts';

const ADDED = { number: LATEST + 1, name: 'adds', script: 'create table more (x integer)', olderGoOn: true } as const;
const CHANGED = { number: LATEST + 2, name: 'changes', script: 'alter table usage rename column bytes to octets' };

async function newCatalog(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-rolling-'));
  t.after(async () => await rm(folder, { recursive: true }));
  const time = { now: 1_709_671_859_000 };
  return { path: join(folder, 'catalog.sqlite'), time, effects: { clock: () => time.now, sleep } };
}

test('a replica goes on while a newer release adds to the catalog; what it could not go on with waits for its end', async (t) => {
  const { path, time, effects } = await newCatalog(t);
  await using older = await openSqliteCatalog(path, effects);
  await older.replicas.beat({ id: 'r1', name: 'web-1', version: '0.1.0' });
  using database = new DatabaseSync(path);
  await migrate(database, effects, [...MIGRATIONS, ADDED]);
  await older.check();
  await older.principals.addUser('ann', 1);
  await (await openSqliteCatalog(path, effects))[Symbol.asyncDispose]();
  const refused = {
    message: `it cannot be brought to version ${LATEST + 2} while replicas of an older release run, which could not go on: web-1 (0.1.0); stop them first, or wait half a minute if they died`,
  };
  await assert.rejects(migrate(database, effects, [...MIGRATIONS, ADDED, CHANGED]), refused);
  await older.check();
  time.now += 29_999;
  await assert.rejects(migrate(database, effects, [...MIGRATIONS, ADDED, CHANGED]), refused);
  time.now += 1;
  await migrate(database, effects, [...MIGRATIONS, ADDED, CHANGED]);
  await assert.rejects(older.check(), /made by a newer release; this one knows version/);
  await assert.rejects(openSqliteCatalog(path, effects), /made by a newer release/);
});

test('a replica that died while the clock was ahead does not hold up the next release until the clock has caught up', async (t) => {
  const { path, time, effects } = await newCatalog(t);
  await using older = await openSqliteCatalog(path, effects);
  time.now += 365 * 86_400_000;
  await older.replicas.beat({ id: 'r1', name: 'web-1', version: '0.1.0' });
  time.now -= 365 * 86_400_000;
  using database = new DatabaseSync(path);
  await migrate(database, effects, [...MIGRATIONS, ADDED, CHANGED]);
  await assert.rejects(older.check(), /made by a newer release/);
});
