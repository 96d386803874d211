/** The schedule over a real catalog, with a clock that the test moves and an engine that does as the test says. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { monotonicFactory } from 'ulid';
import { FakeTime } from '../../test/fake-time.ts';
import { sleep } from '../../test/real-time.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { openSqliteCatalog } from '../catalog/sqlite/sqlite-catalog.ts';
import { columnsOf, type Dataset } from '../datasets/dataset.ts';
import { registerDatasets } from '../datasets/register.ts';
import { type Engine, EngineError, type Materialized } from '../engine/engine.ts';
import type { PublishRefresh, RefreshEvent } from './refresh.ts';
import { refreshNow, runSchedule, Schedule, type ScheduleDeps } from './schedule.ts';

const LEASE_MILLIS = 30_000;
// Runs of the same millisecond are in the order in which they were submitted.
const nextId = monotonicFactory();
const MINUTE = 60_000;
const at = (time: string) => Date.parse(`2024-03-05T${time}:00Z`);

const COLUMNS = columnsOf({ n: 'bigint' });
const QUARTERLY: Dataset = {
  name: 'quarterly',
  title: 'Every fifteen minutes',
  path: '/v1/test/quarterly',
  queryId: 990_000_101,
  schedule: '*/15 * * * *',
  columns: COLUMNS,
  meanings: {},
  sources: [],
  sqlFile: new URL('./none.sql', import.meta.url),
  fragments: {},
  sql: 'SELECT 1 AS n',
};

const root = await mkdtemp(join(tmpdir(), 'qrs-schedule-'));
after(() => rm(root, { recursive: true, force: true }));

let catalog: Catalog;
let time: FakeTime;
let catalogs = 0;
const running = new AbortController().signal;

beforeEach(async () => {
  catalogs += 1;
  catalog = await openSqliteCatalog(join(root, `catalog-${catalogs}.sqlite`), { sleep });
  time = new FakeTime(at('10:07'));
  await registerDatasets(catalog, [QUARTERLY], time.clock());
});

/** What stands for one `qrs serve`: its schedule, and what happened in it. */
class Process {
  readonly events: string[] = [];
  readonly faults: unknown[] = [];
  readonly #watchers = new Map<string, () => void>();
  readonly deps: ScheduleDeps;
  readonly schedule: Schedule;
  /** Runs in place of the SQL; by default one row. */
  work: (signal: AbortSignal) => Promise<Materialized> = async () => ({ columns: COLUMNS, rowCount: 1 });

  constructor(owner: string, more: Partial<ScheduleDeps> = {}) {
    const engine: Engine = {
      materialize: (_query, _path, signal) => this.work(signal),
      check: async () => {},
      hasAny: async () => true,
      async [Symbol.asyncDispose]() {},
    };
    this.deps = {
      catalog,
      engine,
      publish,
      datasets: [QUARTERLY],
      isSetUp: async () => true,
      tasks: [],
      clock: time.clock,
      sleep: time.sleep,
      owner,
      isLeaseOwnerDead: () => false,
      leaseMillis: LEASE_MILLIS,
      pollMillis: 10_000,
      newExecutionId: (now) => nextId(now),
      stagingDirectory: join(root, 'staging'),
      observe: (event: RefreshEvent) => this.#observe(event.kind),
      afterRefresh: async () => {},
      onFault: (_what, error) => this.faults.push(error),
      ...more,
    };
    this.schedule = new Schedule(this.deps);
  }

  #observe(kind: RefreshEvent['kind']): void {
    this.events.push(kind);
    this.#watchers.get(kind)?.();
  }

  /** Resolves when this happens next. */
  next(kind: RefreshEvent['kind']): Promise<void> {
    return new Promise((resolve) => this.#watchers.set(kind, resolve));
  }

  /** Makes the next refresh wait; resolves when it has begun, with what ends it. */
  hold(): Promise<{ readonly finish: () => void }> {
    return new Promise((begun) => {
      this.work = (signal) =>
        new Promise((resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason), { once: true });
          begun({ finish: () => resolve({ columns: COLUMNS, rowCount: 1 }) });
        });
    });
  }
}

/** Completes the run with an empty result, as publishing would, under a lease of its own. */
const publish: PublishRefresh = async ({ executionId, columns }) => {
  const now = time.clock();
  const lease = await catalog.leases.acquire(`write:${executionId}`, 'publisher', now, LEASE_MILLIS);
  assert.ok(lease !== undefined);
  const resultSet = { columns, rowCount: 0, cellBytes: 0, truncated: false, parts: [] };
  const completion = { startedAt: now, endedAt: now, expiresAt: now + 90 * 86_400_000, resultSet };
  return await catalog.executions.complete(executionId, completion, lease);
};

/** The states of all runs, oldest first. */
async function states(): Promise<readonly string[]> {
  const executions = await catalog.executions.list({ queryId: QUARTERLY.queryId, limit: 1000 });
  return executions.map((execution) => execution.state).toReversed();
}

describe('when a dataset is due', () => {
  test('one that was never refreshed is refreshed at once, then at each tick, not in between', async () => {
    const { schedule } = new Process('a');
    const seen: number[] = [];
    for (const now of ['10:07', '10:08', '10:14', '10:15', '10:16', '10:30']) {
      time.moveTo(at(now));
      await schedule.runDue(running);
      seen.push((await states()).length);
    }
    assert.deepEqual(seen, [1, 1, 1, 2, 2, 3]);
    assert.equal(schedule.nextTick(), at('10:45'));
  });

  test('of many missed ticks one is caught up', async () => {
    const { schedule } = new Process('a');
    await schedule.runDue(running);
    time.moveTo(at('19:59'));
    await schedule.runDue(running);
    await schedule.runDue(running);
    assert.deepEqual(await states(), ['COMPLETED', 'COMPLETED']);
  });

  test('of several processes exactly one runs each tick', async () => {
    const processes = ['a', 'b', 'c'].map((name) => new Process(name));
    for (let tick = 0; tick < 12; tick += 1) {
      await Promise.all(processes.map(({ schedule }) => schedule.runDue(running)));
      time.advance(15 * MINUTE);
    }
    assert.deepEqual(await states(), Array(12).fill('COMPLETED'));
    assert.deepEqual(
      processes.flatMap((process) => process.faults),
      [],
    );
  });

  test('the loop sleeps until the next tick or the next look, and ends with the signal', async () => {
    const controller = new AbortController();
    const process = new Process('a', { pollMillis: 20 * MINUTE });
    const asleep = time.nextSleep().then(() => time.nextSleep());
    const loop = runSchedule(process.deps, controller.signal);
    // The first to sleep is the renewal of the lease, the second the loop itself.
    await asleep;
    const again = time.nextSleep().then(() => time.nextSleep());
    time.moveTo(at('10:15'));
    await again;
    controller.abort();
    await loop;
    assert.deepEqual(await states(), ['COMPLETED', 'COMPLETED']);
  });
});

describe('a dataset that nobody has set up', () => {
  test('is not due until it is', async () => {
    let setUp = false;
    const { schedule, events } = new Process('a', { isSetUp: async () => setUp });
    await schedule.runDue(running);
    assert.deepEqual([events, await states()], [[], []]);
    setUp = true;
    await schedule.runDue(running);
    assert.deepEqual(await states(), ['COMPLETED']);
  });
});

describe('a refresh that lasts', () => {
  test('keeps its lease by renewing it, and no other begins', async () => {
    const [a, b] = [new Process('a'), new Process('b')];
    const begun = a.hold();
    const first = a.schedule.runDue(running);
    const { finish } = await begun;
    for (let turn = 0; turn < 9; turn += 1) {
      const renewed = time.nextSleep();
      time.advance(LEASE_MILLIS / 3);
      await renewed;
    }
    await b.schedule.runDue(running);
    assert.equal(await refreshNow(QUARTERLY, b.deps, running), undefined);
    assert.deepEqual(await states(), ['EXECUTING']);
    finish();
    await first;
    assert.deepEqual([a.events, b.events, await states()], [['started', 'refreshed'], [], ['COMPLETED']]);
  });

  test('past the next tick: that one follows it', async () => {
    const a = new Process('a', { leaseMillis: 60 * MINUTE });
    const begun = a.hold();
    const first = a.schedule.runDue(running);
    const { finish } = await begun;
    time.moveTo(at('10:40'));
    const b = new Process('b');
    await b.schedule.runDue(running);
    assert.deepEqual(await states(), ['EXECUTING']);
    finish();
    await first;
    await b.schedule.runDue(running);
    assert.deepEqual(await states(), ['COMPLETED', 'COMPLETED']);
  });
});

describe('a clock that was days ahead for a while', () => {
  const DAYS = 3 * 24 * 60 * MINUTE;

  test('stops nothing: the next tick is run once, and its run is the latest', async () => {
    time.advance(DAYS);
    const wrong = new Process('wrong');
    await wrong.schedule.runDue(running);
    const [ahead] = await catalog.executions.list({ queryId: QUARTERLY.queryId, limit: 1 });
    time.moveTo(at('10:16'));
    const right = [new Process('a'), new Process('b'), wrong];
    for (const { schedule } of [...right, ...right]) await schedule.runDue(running);
    assert.deepEqual(await states(), ['COMPLETED', 'COMPLETED']);
    const latest = await catalog.executions.findLatest(QUARTERLY.queryId, {}, time.clock());
    assert.notEqual(latest?.id, ahead?.id);
    assert.equal(latest?.submittedAt, at('10:16'));
  });

  test('and stays so beside one that is right: each of them runs a tick once', async () => {
    const wrong = new Process('wrong', { clock: () => time.clock() + DAYS });
    const right = new Process('right');
    for (const now of ['10:16', '10:17', '10:18', '10:31', '10:32']) {
      time.moveTo(at(now));
      for (const { schedule } of [wrong, right]) await schedule.runDue(running);
    }
    assert.equal((await states()).length, 4);
  });

  test('its tasks come round, too', async () => {
    let sweeps = 0;
    const run = async () => {
      sweeps += 1;
    };
    const task = { name: 'sweep', schedule: '5,35 * * * *', run };
    const process = new Process('a', { tasks: [task] });
    time.advance(DAYS);
    await process.schedule.runDue(running);
    time.moveTo(at('10:36'));
    for (let look = 0; look < 3; look += 1) await process.schedule.runDue(running);
    assert.equal(sweeps, 2);
  });
});

test("a refresh leaves alone what others submitted for the dataset's query", async () => {
  const theirs = { id: nextId(time.clock()), queryId: QUARTERLY.queryId, parameters: {}, submittedAt: time.clock() };
  await catalog.executions.add({ ...theirs, state: 'PENDING' });
  await new Process('a').schedule.runDue(running);
  assert.deepEqual(await states(), ['PENDING', 'COMPLETED']);
  assert.deepEqual(await catalog.leases.list(''), []);
});

describe('a process that ends in the middle of a refresh', () => {
  /** A process whose lease is not renewed, and what would end its refresh after all. */
  async function beginAndStall() {
    const process = new Process('a', { sleep: () => new Promise(() => {}) });
    const begun = process.hold();
    void process.schedule.runDue(running);
    return { process, ...(await begun) };
  }

  test('is followed by exactly one other once its lease has run out, and what it left is failed', async () => {
    await beginAndStall();
    const others = [new Process('b'), new Process('c')];
    time.advance(LEASE_MILLIS - 1);
    for (const { schedule } of others) await schedule.runDue(running);
    assert.deepEqual(await states(), ['EXECUTING']);
    time.advance(1);
    await Promise.all(others.map(({ schedule }) => schedule.runDue(running)));
    await Promise.all(others.map(({ schedule }) => schedule.runDue(running)));
    assert.deepEqual(await states(), ['FAILED', 'COMPLETED']);
    const [, orphan] = await catalog.executions.list({ queryId: QUARTERLY.queryId, limit: 2 });
    assert.equal(orphan?.error?.type, 'interrupted');
  });

  test('is followed at once when it is known to be dead', async () => {
    await beginAndStall();
    await new Process('b', { isLeaseOwnerDead: (owner) => owner === 'a' }).schedule.runDue(running);
    assert.deepEqual(await states(), ['FAILED', 'COMPLETED']);
  });

  test('and was only asleep: what it brings too late is refused', async () => {
    const { process, finish } = await beginAndStall();
    time.advance(LEASE_MILLIS);
    await new Process('b').schedule.runDue(running);
    const failed = process.next('failed');
    finish();
    await failed;
    assert.deepEqual(await states(), ['FAILED', 'COMPLETED']);
  });

  test('by order: its run is cancelled, and the next process takes it up at once', async () => {
    const controller = new AbortController();
    const a = new Process('a');
    const begun = a.hold();
    const ended = a.schedule.runDue(controller.signal);
    await begun;
    controller.abort();
    await ended;
    assert.deepEqual([a.events, await states()], [['started', 'interrupted'], ['CANCELLED']]);
    await new Process('b').schedule.runDue(running);
    assert.deepEqual(await states(), ['CANCELLED', 'COMPLETED']);
  });
});

describe('a refresh that fails', () => {
  test('puts its error on the execution, leaves the last good one served, and is tried again at the next tick', async () => {
    const a = new Process('a');
    await a.schedule.runDue(running);
    const good = await catalog.executions.findLatest(QUARTERLY.queryId, {}, time.clock());
    a.work = async () => {
      throw new EngineError('syntax_error', 'no such column', { line: 3, column: 7 });
    };
    time.moveTo(at('10:15'));
    await a.schedule.runDue(running);
    await a.schedule.runDue(running);
    assert.deepEqual(await states(), ['COMPLETED', 'FAILED']);
    const [latest] = await catalog.executions.list({ queryId: QUARTERLY.queryId, limit: 1 });
    assert.deepEqual(latest?.error, { type: 'syntax_error', message: 'no such column', line: 3, column: 7 });
    const served = await catalog.executions.findLatest(QUARTERLY.queryId, {}, time.clock());
    assert.equal(served?.id, good?.id);
    time.moveTo(at('10:30'));
    await a.schedule.runDue(running);
    assert.equal((await states()).length, 3);
  });

  test('when the columns are not those declared', async () => {
    const a = new Process('a');
    a.work = async () => ({ columns: columnsOf({ n: 'varchar' }), rowCount: 1 });
    const outcome = await refreshNow(QUARTERLY, a.deps, running);
    assert.ok(outcome?.kind === 'failed');
    assert.deepEqual(outcome.error, {
      type: 'column_mismatch',
      message: 'column 1: found n varchar, expected n bigint',
    });
  });

  test('in a way nobody foresaw: the execution says nothing of the inside, the outcome has it', async () => {
    const cause = new Error('/secret/path is full');
    const a = new Process('a', { publish: () => Promise.reject(cause) });
    const outcome = await refreshNow(QUARTERLY, a.deps, running);
    assert.ok(outcome?.kind === 'failed');
    assert.equal(outcome.error.type, 'internal_error');
    assert.doesNotMatch(outcome.error.message, /secret/);
    assert.equal(outcome.cause, cause);
  });
});

describe('tasks', () => {
  test('are run on a full disk, where no tick can be claimed: the sweep is what frees it', async () => {
    let runs = 0;
    const sweep = {
      name: 'sweep',
      schedule: '0 * * * *',
      run: async () => {
        runs += 1;
      },
    };
    const claim = async () => {
      throw Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 });
    };
    const { executions, leases, ticks } = catalog;
    const full = { executions, leases, ticks: { findLast: (name: string) => ticks.findLast(name), claim } };
    const process = new Process('a', { datasets: [], tasks: [sweep], catalog: full });
    time.moveTo(at('10:07'));
    await process.schedule.runDue(running);
    assert.deepEqual([runs, process.faults], [1, []]);
  });

  test('run once at each tick, in one of the processes, and a failure stops nothing', async () => {
    let runs = 0;
    const sweep = {
      name: 'sweep',
      schedule: '0 * * * *',
      run: async () => {
        runs += 1;
        throw new Error('disk gone');
      },
    };
    const processes = ['a', 'b'].map((name) => new Process(name, { datasets: [], tasks: [sweep] }));
    for (const now of ['10:07', '10:59', '11:00', '11:30', '12:01']) {
      time.moveTo(at(now));
      await Promise.all(processes.map(({ schedule }) => schedule.runDue(running)));
    }
    assert.equal(runs, 3);
    assert.equal(processes.flatMap((process) => process.faults).length, 3);
  });
});
