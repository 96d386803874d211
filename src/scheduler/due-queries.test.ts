/** Queries with schedules of their own, over a real catalog, with a fake clock. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { monotonicFactory } from 'ulid';
import { FakeTime } from '../../test/fake-time.ts';
import { sleep } from '../../test/real-time.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { openSqliteCatalog } from '../catalog/sqlite/sqlite-catalog.ts';
import type { Query } from '../domain/query.ts';
import { CatalogUnavailable } from '../errors/catalog-unavailable.ts';
import { RunQueue } from '../runs/run-queue.ts';
import { DueQueries } from './due-queries.ts';

const nextId = monotonicFactory();
const at = (time: string) => Date.parse(`2024-03-05T${time}:00Z`);
const root = await mkdtemp(join(tmpdir(), 'qrs-due-'));
after(() => rm(root, { recursive: true, force: true }));

let catalog: Catalog;
let time: FakeTime;
let catalogs = 0;

beforeEach(async () => {
  time = new FakeTime(at('10:07'));
  catalog = await openSqliteCatalog(join(root, `catalog-${++catalogs}.sqlite`), { clock: () => time.clock(), sleep });
  await catalog.principals.addUser('ann', 0);
});

const owner = { kind: 'user', name: 'ann' } as const;
const add = (id: number, schedule: string, more = {}) =>
  catalog.queries.add({ id, owner, visibility: 'public', sql: 'SELECT 1 AS n', schedule, ...more }, time.clock());

/** Stands for one process. */
function makeProcess(limits = { waitingMax: 10, waitingOfKeyMax: 10 }) {
  const queue = new RunQueue({
    catalog,
    clock: time.clock,
    newExecutionId: (now) => nextId(now),
    limits,
    coalesce: false,
  });
  const due = new DueQueries({
    catalog,
    clock: time.clock,
    queries: {
      list: async () =>
        (await catalog.queries.list({ runsOnSchedule: true })).map((query) => ({
          query,
          since: query.scheduledAt,
          isSetUp: async () => true,
        })),
      submit: async (query, tick) => (await queue.submitScheduled({ query, tick, isLimited: true })) !== undefined,
    },
  });
  const look = async () => {
    const faults: string[] = [];
    for await (const found of due.listDue(new AbortController().signal)) {
      await due.submit(found).catch((error: Error) => faults.push(error.message));
    }
    return faults;
  };
  return { due, look };
}

const runs = async (queryId: number) => (await catalog.executions.list({ queryId, limit: 100 })).length;

/** Ends the waiting runs, as a runner would. */
async function endAll(): Promise<void> {
  for (const { id } of await catalog.executions.list({ state: ['PENDING', 'EXECUTING'], limit: 100 })) {
    await catalog.executions.cancel(id, time.clock());
  }
}

test('a query is run at each of its ticks, from the first tick after it got its schedule', async () => {
  await add(7, '*/15 * * * *');
  const { look } = makeProcess();
  await look();
  assert.equal(await runs(7), 0);
  for (const [moment, expected] of [
    ['10:14', 0],
    ['10:15', 1],
    ['10:29', 1],
    ['10:31', 2],
  ] as const) {
    time.moveTo(at(moment));
    await look();
    await look();
    await endAll();
    assert.equal(await runs(7), expected, moment);
  }
});

test('of many processes one runs a tick; of several missed ticks the last is run', async () => {
  await add(7, '*/15 * * * *');
  const processes = [makeProcess(), makeProcess(), makeProcess()];
  time.moveTo(at('10:15'));
  await Promise.all(processes.map(({ look }) => look()));
  await endAll();
  assert.equal(await runs(7), 1);
  time.moveTo(at('13:02'));
  await Promise.all(processes.map(({ look }) => look()));
  await endAll();
  await Promise.all(processes.map(({ look }) => look()));
  assert.equal(await runs(7), 2);
});

test('a query does not overlap itself: while its run waits or runs, the next tick adds none', async () => {
  await add(7, '*/15 * * * *');
  const { look } = makeProcess();
  for (const moment of ['10:15', '10:30', '10:45']) {
    time.moveTo(at(moment));
    await look();
  }
  assert.equal(await runs(7), 1);
  await endAll();
  time.moveTo(at('11:00'));
  await look();
  assert.equal(await runs(7), 2);
});

test('a tick that comes during the run of the tick before is run when that run has ended', async () => {
  await add(7, '*/15 * * * *');
  const { look } = makeProcess();
  time.moveTo(at('10:15'));
  await look();
  await catalog.runs.claim({ owner: 'a', at: time.clock(), leaseMillis: 60_000, runningOfKeyMax: 1 });
  time.moveTo(at('10:30'));
  await look();
  assert.equal(await runs(7), 1);
  await endAll();
  time.moveTo(at('10:31'));
  await look();
  await look();
  assert.equal(await runs(7), 2);
});

test('a look at many queries lets other work run in between', async () => {
  const queries = Array.from({ length: 1000 }, (_, id) => ({ id, owner, schedule: '*/15 * * * *' }) as Query);
  const due = new DueQueries({
    // It answers at once, as an embedded catalog does.
    catalog: { ticks: { findLast: async () => undefined, claim: async () => true } },
    clock: time.clock,
    queries: {
      list: async () => queries.map((query) => ({ query, since: 0, isSetUp: async () => true })),
      submit: async () => true,
    },
  });
  let [found, foundAtMost] = [0, 0];
  let before = 0;
  const ended = new AbortController();
  const others = () => {
    foundAtMost = Math.max(foundAtMost, found - before);
    before = found;
    if (!ended.signal.aborted) setImmediate(others);
  };
  setImmediate(others);
  for await (const tick of due.listDue(new AbortController().signal)) {
    await due.submit(tick);
    found += 1;
  }
  ended.abort();
  assert.equal(found, 1000);
  assert.ok(foundAtMost > 0 && foundAtMost <= 50, `${foundAtMost} queries in one go`);
});

test('the schedules of one owner have the limits of one key: a run without a place keeps its tick, and other owners get theirs', async () => {
  await catalog.principals.addUser('bob', 0);
  await add(7, '*/15 * * * *');
  await add(8, '*/15 * * * *');
  await add(9, '*/15 * * * *', { owner: { kind: 'user', name: 'bob' } });
  const { look } = makeProcess({ waitingMax: 10, waitingOfKeyMax: 1 });
  time.moveTo(at('10:15'));
  assert.deepEqual(await look(), []);
  assert.deepEqual([await runs(7), await runs(8), await runs(9)], [1, 0, 1]);
  const claim = () => catalog.runs.claim({ owner: 'a', at: time.clock(), leaseMillis: 60_000, runningOfKeyMax: 1 });
  assert.deepEqual([(await claim())?.execution.queryId, (await claim())?.execution.queryId], [7, 9]);
  assert.deepEqual(await look(), []);
  assert.equal(await runs(8), 1);
  assert.equal(await claim(), undefined);
});

test('a query that cannot be run is reported once for each tick', async () => {
  await add(7, '*/15 * * * *', { parameters: [{ key: 'day', type: 'datetime' }] });
  const { look } = makeProcess();
  time.moveTo(at('10:15'));
  assert.deepEqual(await look(), ['parameter day has no value: the query gives it none of its own']);
  assert.deepEqual(await look(), []);
  time.moveTo(at('10:30'));
  assert.equal((await look()).length, 1);
  assert.equal(await runs(7), 0);
});

test('a tick whose run the catalog could not take at the moment is not lost', async () => {
  await add(7, '*/15 * * * *');
  const { enqueue } = catalog.runs;
  // As where somebody else holds the lock of transactions, which claiming a tick alone does not need.
  catalog.runs.enqueue = async () => {
    throw new CatalogUnavailable('the catalog cannot be reached at the moment');
  };
  const { look } = makeProcess();
  time.moveTo(at('10:15'));
  assert.deepEqual(await look(), ['the catalog cannot be reached at the moment']);
  catalog.runs.enqueue = enqueue;
  assert.deepEqual(await look(), []);
  assert.equal(await runs(7), 1);
});

test('a changed schedule has no ticks from before the change', async () => {
  await add(7, '0 0 1 1 *');
  const { look } = makeProcess();
  await look();
  time.moveTo(at('10:20'));
  await catalog.queries.update(7, { schedule: '*/15 * * * *' }, time.clock());
  await look();
  assert.equal(await runs(7), 0);
  time.moveTo(at('10:30'));
  await look();
  assert.equal(await runs(7), 1);
});

test('a change of something else than the schedule takes no tick away that waits', async () => {
  await add(7, '*/15 * * * *');
  const { look } = makeProcess();
  time.moveTo(at('10:15'));
  await look();
  const [run] = await catalog.executions.list({ queryId: 7, limit: 1 });
  assert.ok(run !== undefined);
  await catalog.runs.claim({ owner: 'other', at: time.clock(), leaseMillis: 3_600_000, runningOfKeyMax: 1 });
  time.moveTo(at('10:31'));
  await look();
  await catalog.queries.update(7, { name: 'Prices' }, time.clock());
  await look();
  assert.equal(await runs(7), 1);
  await catalog.executions.cancel(run.id, time.clock());
  await look();
  assert.equal(await runs(7), 2);
});
