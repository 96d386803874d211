/** The sweep deletes what has expired and what writers left behind, and never what is being read or written. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Catalog, Executions } from '../../src/catalog/catalog.ts';
import { type Execution, stateAt } from '../../src/domain/execution.ts';
import { writeResource } from '../../src/domain/lease-names.ts';
import { derivedName, stagingName, writerPrefix } from '../../src/domain/written-names.ts';
import { currentLeaseOwner, isLeaseOwnerDead } from '../../src/leases/lease-owner.ts';
import { type Swept, sweep, sweepAll } from '../../src/maintenance/sweep.ts';
import { SweepStopped } from '../../src/maintenance/sweep-trust.ts';
import { verify } from '../../src/maintenance/verify.ts';
import type { ResultStore } from '../../src/store/result-store.ts';
import { NEVER, Workplace } from './publishing.ts';
import { withMethods } from './with-methods.ts';

const DAY_MILLIS = 24 * 60 * 60 * 1000;
const MINUTE_MILLIS = 60_000;
const ID = '01HR7V4N7VD2Q9D9Z5T2T6W3M1';
const OTHER = '01HR7V4N7VD2Q9D9Z5T2T6W3M2';

async function keys(place: Workplace): Promise<readonly string[]> {
  return await Array.fromAsync(place.store.list(''), (object) => object.key);
}

async function publishOne(place: Workplace, retentionDays: number): Promise<Execution> {
  return await place.publish(await place.write('a.csv', 'a\n1\n'), {}, { retentionDays });
}

/** A publisher before its commit: a lease, a staged file, and an object put. */
async function beginWriting(place: Workplace, id: string, owner: string) {
  const lease = await place.catalog.leases.acquire(writeResource(id), owner, MINUTE_MILLIS);
  assert.ok(lease);
  const staged = join(place.folder, 'objects', 'staging', stagingName(lease));
  await mkdir(staged, { recursive: true });
  await writeFile(join(staged, 'part-0.parquet'), 'staged');
  const object = await place.write('object', 'bytes');
  await place.store.put(`${writerPrefix(lease)}part-00000.parquet`, object, NEVER);
  return lease;
}

/** An owner on this host that has just died. */
function deadHolder(): string {
  const module = join(import.meta.dirname, '../../src/leases/lease-owner.ts');
  const script = `import { currentLeaseOwner } from ${JSON.stringify(module)}; process.stdout.write(currentLeaseOwner());`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }).stdout;
}

test('an expired result is deleted, with its bytes counted, and others are kept', async () => {
  await using place = await Workplace.open();
  const kept = await publishOne(place, 90);
  const gone = await publishOne(place, 1);
  const [part] = (await place.resultSet(gone)).parts;
  const later = { ...place.dependencies, clock: () => Date.now() + 2 * DAY_MILLIS };
  assert.deepEqual(await sweep(later, 100, NEVER), { expired: 1, orphans: 0, bytes: part?.objectBytes });
  assert.equal((await place.catalog.executions.find(gone.id))?.state, 'EXPIRED');
  assert.deepEqual(
    await keys(place),
    (await place.resultSet(kept)).parts.map(({ key }) => key),
  );
  assert.deepEqual(await sweep(later, 100, NEVER), { expired: 0, orphans: 0, bytes: 0 });
});

test('the objects of what expires go before more expires', async () => {
  await using place = await Workplace.open();
  await publishOne(place, 1);
  await publishOne(place, 1);
  const later = { ...place.dependencies, clock: () => Date.now() + 2 * DAY_MILLIS };
  assert.equal((await sweep(later, 1, NEVER)).expired, 1);
  assert.equal((await keys(place)).length, 1);
});

/** The executions of the catalog, and so many more that have expired. */
function withExpired({ executions }: Catalog, count: number): Executions {
  const ids = Array.from({ length: count }, (_, i) => String(i));
  return withMethods(executions, {
    listExpired: async (_, limit) => ids.slice(0, limit).map((id) => ({ id }) as Execution),
    expire: async (id) => void ids.splice(ids.indexOf(id), 1),
  });
}

test('however much has expired, the store is listed a few times', async () => {
  await using place = await Workplace.open();
  let lists = 0;
  const list = async function* (prefix: string) {
    lists += 1;
    yield* place.store.list(prefix);
  };
  const store = withMethods<ResultStore>(place.store, { list });
  const catalog = withMethods<Catalog>(place.catalog, { executions: withExpired(place.catalog, 5000) });
  const told: number[] = [];
  await sweepAll({ ...place.dependencies, catalog, store }, NEVER, ({ expired }) => told.push(expired));
  assert.deepEqual(told, [200, 600, 1400, 3000, 5000]);
  assert.equal(lists, told.length + 1);
});

test('a store that says that it deletes, and does not, is not swept for ever', async () => {
  await using place = await Workplace.open();
  await publishOne(place, 1);
  const later = { ...place.dependencies, clock: () => Date.now() + 2 * DAY_MILLIS };
  const store = withMethods<ResultStore>(place.store, { delete: async () => [] });
  let swept: Swept | undefined;
  await sweepAll({ ...later, store }, NEVER, (soFar) => {
    swept = soFar;
  });
  assert.equal(swept?.expired, 1);
});

test('files derived from an expired result go with it; files with other names stay', async () => {
  await using place = await Workplace.open();
  const [kept, gone] = [await publishOne(place, 90), await publishOne(place, 1)];
  const { derivedDirectory } = place.dependencies;
  const names = [kept, gone].map(({ id }) => derivedName(id, 'part-00000', '0123456789abcdef', 'rows'));
  await mkdir(derivedDirectory);
  for (const name of [...names, 'mine.rows']) await writeFile(join(derivedDirectory, name), 'rows');
  // Of a name that our files have, and no file.
  const folder = derivedName(gone.id, 'mine', '0123456789abcdef', 'rows');
  await mkdir(join(derivedDirectory, folder));
  const later = { ...place.dependencies, clock: () => Date.now() + 2 * DAY_MILLIS };
  const [part] = (await place.resultSet(gone)).parts;
  assert.deepEqual(await sweep(later, 100, NEVER), { expired: 1, orphans: 0, bytes: 4 + (part?.objectBytes ?? 0) });
  assert.deepEqual(new Set(await readdir(derivedDirectory)), new Set([names[0], 'mine.rows', folder]));
});

test('a short read that began before the expiry gets its time; then the result goes, which reads as expired all the while', async () => {
  await using place = await Workplace.open();
  const execution = await publishOne(place, 1);
  const { readTimeoutMillis } = place.dependencies;
  const expiresAt = execution.expiresAt ?? assert.fail('it does not expire');
  const sweepAt = async (now: number) => await sweep({ ...place.dependencies, clock: () => now }, 100, NEVER);
  assert.equal((await sweepAt(expiresAt + readTimeoutMillis - 1)).expired, 0);
  assert.equal((await keys(place)).length, 1);
  assert.equal(stateAt(execution, expiresAt), 'EXPIRED');
  assert.equal((await sweepAt(expiresAt + readTimeoutMillis)).expired, 1);
  assert.deepEqual(await keys(place), []);
});

test('an expired result that is being read is kept until the reader is done', async () => {
  await using place = await Workplace.open();
  const execution = await publishOne(place, 1);
  const now = Date.now() + 2 * DAY_MILLIS;
  const later = { ...place.dependencies, clock: () => now };
  const reading = await place.catalog.leases.acquire(`read:${execution.id}:1`, currentLeaseOwner(), MINUTE_MILLIS);
  assert.ok(reading);
  assert.equal((await sweep(later, 100, NEVER)).expired, 1);
  assert.equal((await keys(place)).length, 1);
  await place.catalog.leases.release(reading);
  await sweep(later, 100, NEVER);
  assert.deepEqual(await keys(place), []);
});

test('on a completely full disk the sweep works in the room of its reserve, and makes it again', async () => {
  await using place = await Workplace.open();
  await publishOne(place, 1);
  const reserve = join(place.folder, 'reserve');
  const isFull = async () => (await stat(reserve).catch(() => undefined)) !== undefined;
  let refused = 0;
  const { executions, idempotencyKeys, leases, installation, webhooks } = place.catalog;
  const expire = async (id: string) => {
    if (await isFull()) {
      refused += 1;
      throw Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 });
    }
    await executions.expire(id);
  };
  const catalog = {
    idempotencyKeys,
    leases,
    installation,
    webhooks,
    verify: () => place.catalog.verify(),
    now: () => place.catalog.now(),
    executions: new Proxy(executions, {
      get: (target, name) => (name === 'expire' ? expire : Reflect.get(target, name).bind(target)),
    }),
  };
  await sweep(place.dependencies, 100, NEVER);
  assert.ok((await stat(reserve)).size >= 4 * 1024 * 1024);
  const trust = { shareMax: 0.1, confirmed: true };
  const later = { ...place.dependencies, catalog, trust, clock: () => Date.now() + 2 * DAY_MILLIS };
  assert.equal((await sweep(later, 100, NEVER)).expired, 1);
  assert.equal(refused, 1);
  assert.deepEqual(await keys(place), []);
  assert.ok((await stat(reserve)).size >= 4 * 1024 * 1024, 'for the next time');

  await publishOne(place, 1);
  await writeFile(reserve, 'of somebody else');
  await assert.rejects(sweep(later, 100, NEVER), {
    message: `database or disk is full; ${reserve}, which is given up for that, is not there: free some megabytes in another way first`,
  });
  assert.equal((await stat(reserve)).size, 16, 'a foreign file stays');
});

test('an expired result that this process has open is kept, even without a lease, and the sweep reports no bytes freed', async () => {
  await using place = await Workplace.open();
  const execution = await publishOne(place, 1);
  const [part] = (await place.resultSet(execution)).parts;
  assert.ok(part);
  const later = { ...place.dependencies, clock: () => Date.now() + 2 * DAY_MILLIS };
  const open = await place.store.open(part, { from: 0, to: 1 }, NEVER);
  assert.deepEqual(await sweep(later, 100, NEVER), { expired: 1, orphans: 0, bytes: 0 });
  assert.deepEqual(await sweep(later, 100, NEVER), { expired: 0, orphans: 0, bytes: 0 });
  assert.equal((await stat(open.path)).size, part.objectBytes);
  await open[Symbol.asyncDispose]();
  assert.deepEqual(await sweep(later, 100, NEVER), { expired: 0, orphans: 0, bytes: part.objectBytes });
  assert.deepEqual(await keys(place), []);
});

test('what cannot be deleted is told, and keeps nothing else from being deleted', async () => {
  await using place = await Workplace.open();
  const [refused, other] = [
    await beginWriting(place, ID, deadHolder()),
    await beginWriting(place, OTHER, deadHolder()),
  ];
  const denied = `${writerPrefix(refused)}part-00000.parquet`;
  const remove = async (asked: readonly string[]) => {
    if (asked.includes(denied)) {
      throw Object.assign(new Error(`EACCES: permission denied, unlink '${denied}'`), { code: 'EACCES' });
    }
    return await place.store.delete(asked);
  };
  const store = new Proxy(place.store, {
    get: (target, name) => (name === 'delete' ? remove : Reflect.get(target, name).bind(target)),
  });
  assert.notEqual(writerPrefix(refused), writerPrefix(other));
  const dependencies = { ...place.dependencies, store };
  assert.deepEqual(await sweep(dependencies, 100, NEVER), { expired: 0, orphans: 3, bytes: 17 });
  await assert.rejects(sweep(dependencies, 100, NEVER), {
    constructor: SweepStopped,
    message: `1 leftover cannot be deleted: EACCES: permission denied, unlink '${denied}'; give this user the right to, or remove what is named; all others were deleted`,
  });
  assert.deepEqual(await keys(place), [denied]);
});

test('a folder that cannot be looked into is told, and keeps nothing else from being deleted', async () => {
  await using place = await Workplace.open();
  // A link to itself can be followed by nobody, whoever runs this test.
  const closed = join(place.staging, 'closed');
  await mkdir(place.staging, { recursive: true });
  await symlink('closed', closed);
  for (const folder of ['stagingDirectory', 'derivedDirectory'] as const) {
    await beginWriting(place, ID, deadHolder());
    const later = { ...place.dependencies, [folder]: closed, clock: () => Date.now() + 2 * DAY_MILLIS };
    await publishOne(place, 1);
    const swept: number[] = [];
    await assert.rejects(
      sweepAll(later, NEVER, ({ expired }) => swept.push(expired)),
      {
        constructor: SweepStopped,
        message: `1 leftover cannot be deleted: ELOOP: too many symbolic links encountered, scandir '${closed}'; give this user the right to, or remove what is named; all others were deleted`,
      },
    );
    assert.deepEqual([swept, await keys(place)], [[1], []], folder);
  }
});

test('an answer under an Idempotency-Key is kept for its day, though the clock of the host that sweeps is hours ahead', async () => {
  await using place = await Workplace.open();
  const { idempotencyKeys, leases } = place.catalog;
  const lease = await leases.acquire('idempotency:k', 'o', 60_000);
  assert.ok(lease !== undefined);
  const answer = { keyId: 'k', name: 'n', fingerprint: 'f', status: 200, body: '{}' };
  await idempotencyKeys.keep(answer, lease);
  const trust = { shareMax: 0.1, confirmed: true };
  await sweep({ ...place.dependencies, trust, clock: () => Date.now() + 1.5 * DAY_MILLIS }, 100, NEVER);
  assert.equal((await idempotencyKeys.find('k', 'n', 0))?.status, 200);
});

test('what a living writer has staged and put is not touched', async () => {
  await using place = await Workplace.open();
  await beginWriting(place, ID, currentLeaseOwner());
  assert.deepEqual(await sweep(place.dependencies, 100, NEVER), { expired: 0, orphans: 0, bytes: 0 });
  assert.equal((await keys(place)).length, 1);
});

test('what a dead writer left is deleted at once, and its lease ended', async () => {
  await using place = await Workplace.open();
  await beginWriting(place, ID, deadHolder());
  assert.deepEqual(await sweep(place.dependencies, 100, NEVER), { expired: 0, orphans: 2, bytes: 11 });
  assert.deepEqual(await keys(place), []);
  assert.deepEqual(await readdir(place.staging), []);
  assert.deepEqual(await place.catalog.leases.list(''), []);
});

test('a writer on another host is dead when its lease has expired', async () => {
  await using place = await Workplace.open();
  await beginWriting(place, ID, 'another host|1|1|1');
  assert.equal((await sweep(place.dependencies, 100, NEVER)).orphans, 0);
  await place.advance(2 * MINUTE_MILLIS);
  assert.equal((await sweep(place.dependencies, 100, NEVER)).orphans, 2);
});

test("of two writers of one execution, the first one's leftovers are deleted and the second one's result is kept", async () => {
  await using place = await Workplace.open();
  const id = '01HZZZZZZZZZZZZZZZZZZZZZZZ';
  await place.catalog.executions.add({ id, queryId: 1, parameters: {}, state: 'PENDING', submittedAt: 1 });
  const lost = await beginWriting(place, id, deadHolder());
  await place.catalog.leases.revoke(lost);
  await place.publish(await place.write('a.csv', 'a\n1\n'), { executionId: id });
  assert.equal((await keys(place)).length, 2);
  await sweep(place.dependencies, 100, NEVER);
  assert.deepEqual(
    await keys(place),
    (await place.resultSet({ id })).parts.map(({ key }) => key),
  );
});

test('this process is alive, an ended process is dead, and of another host nothing is certain', () => {
  assert.equal(isLeaseOwnerDead(currentLeaseOwner()), false);
  assert.equal(isLeaseOwnerDead(deadHolder()), true);
  assert.equal(isLeaseOwnerDead('another host|1|1|1'), false);
  assert.equal(isLeaseOwnerDead('nonsense'), false);
});

test('verify names the damaged object and passes the others', async () => {
  await using place = await Workplace.open();
  const good = await publishOne(place, 90);
  const bad = await publishOne(place, 90);
  const [part] = (await place.resultSet(bad)).parts;
  await place.spoil(part?.key ?? '');
  const found = await Array.fromAsync(verify(place.dependencies, NEVER));
  assert.deepEqual(
    found.map(({ executionId, problem }) => [executionId, problem !== undefined]).sort(),
    [
      [bad.id, true],
      [good.id, false],
    ].sort(),
  );
  assert.match(found.find(({ problem }) => problem !== undefined)?.problem ?? '', /is damaged: it has 3 bytes/);
});
