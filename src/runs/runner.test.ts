/** The runner over a real catalog, with a fake clock and an engine that the test controls. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { monotonicFactory } from 'ulid';
import { FakeTime } from '../../test/fake-time.ts';
import { sleep } from '../../test/real-time.ts';
import type { Catalog, Lease } from '../catalog/catalog.ts';
import { openSqliteCatalog } from '../catalog/sqlite/sqlite-catalog.ts';
import type { QueryParameter } from '../domain/query.ts';
import type { RunProgress } from '../domain/run-progress.ts';
import { type Engine, EngineError, type EngineQuery, type Materialized } from '../engine/engine.ts';
import { CatalogUnavailable } from '../errors/catalog-unavailable.ts';
import { RequestError } from '../errors/errors.ts';
import { StoreUnavailable } from '../errors/store-unavailable.ts';
import type { RunEvent } from './run-claimed.ts';
import { isBeingRun } from './run-now.ts';
import { RunQueue } from './run-queue.ts';
import { Runner, type RunnerDeps, runQueued } from './runner.ts';

const LEASE_MILLIS = 30_000;
const nextId = monotonicFactory();
const root = await mkdtemp(join(tmpdir(), 'qrs-runner-'));
after(() => rm(root, { recursive: true, force: true }));

const PARAMETERS: readonly QueryParameter[] = [{ key: 'n', type: 'number', value: '1' }];
const QUERY = { id: 7, sql: 'SELECT {{n}} AS n', parameters: PARAMETERS, isArchived: false };
const COLUMNS = [{ name: 'n', type: { kind: 'bigint' } }] as const;

let catalog: Catalog;
let time: FakeTime;
let catalogs = 0;

beforeEach(async () => {
  time = new FakeTime(Date.parse('2024-03-05T20:50:59Z'));
  catalog = await openSqliteCatalog(join(root, `catalog-${++catalogs}.sqlite`), { clock: time.clock, sleep });
  await catalog.principals.addUser('ann', 0);
  await catalog.queries.add({ id: 7, owner: { kind: 'user', name: 'ann' }, visibility: 'public' }, 0);
});

/** Stands for one `qrs serve`. */
class Process {
  readonly events: RunEvent[] = [];
  readonly faults: unknown[] = [];
  readonly queries: EngineQuery[] = [];
  readonly queue: RunQueue;
  readonly deps: RunnerDeps;
  readonly runner: Runner;
  readonly stopping = new AbortController();
  readonly #watchers = new Map<string, () => void>();
  work: (signal: AbortSignal, told?: (progress: RunProgress) => void) => Promise<Materialized> = async () => ({
    columns: COLUMNS,
    rowCount: 1,
  });

  constructor(owner: string, more: Partial<RunnerDeps> = {}, coalesce = false) {
    const { clock, sleep } = time;
    const limits = { waitingMax: 3, waitingOfKeyMax: 2 };
    this.queue = new RunQueue({ catalog, clock, newExecutionId: (now) => nextId(now), limits, coalesce });
    const engine: Engine = {
      materialize: (query, _path, signal, told) => {
        this.queries.push(query);
        return this.work(signal, told);
      },
      check: async () => undefined,
      hasAny: async () => true,
      async [Symbol.asyncDispose]() {},
    };
    this.deps = {
      catalog,
      engine,
      sources: [],
      findDataset: async () => undefined,
      publish,
      queue: this.queue,
      clock,
      sleep,
      owner,
      isLeaseOwnerDead: () => false,
      leaseMillis: LEASE_MILLIS,
      runningMax: 2,
      runningOfKeyMax: 1,
      pollMillis: 1000,
      stagingDirectory: join(root, 'staging'),
      observe: (event) => {
        this.events.push(event);
        this.#watchers.get(event.kind)?.();
      },
      onFault: (_what, error) => this.faults.push(error),
      ...more,
    };
    this.runner = new Runner(this.deps, this.stopping.signal);
  }

  /** Resolves at the next event of this kind. */
  next(kind: RunEvent['kind']): Promise<void> {
    return new Promise((resolve) => this.#watchers.set(kind, resolve));
  }

  /** Makes every query wait until the test finishes it or its signal is aborted. */
  hold(): { readonly finish: () => void; readonly begun: (count: number) => Promise<void> } {
    const held: (() => void)[] = [];
    let tell = () => {};
    this.work = (signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        held.push(() => resolve({ columns: COLUMNS, rowCount: 1 }));
        tell();
      });
    return {
      finish: () => held.shift()?.(),
      begun: async (count) => {
        while (held.length < count) await new Promise<void>((resolve) => (tell = resolve));
      },
    };
  }

  kinds(): readonly string[] {
    return this.events.map(({ kind }) => kind);
  }
}

const publish: RunnerDeps['publish'] = async ({ executionId, lease, giveUp }) => {
  const resultSet = { columns: COLUMNS, rowCount: 1, cellBytes: 8, truncated: false, parts: [] };
  const now = time.clock();
  const completion = { startedAt: now, endedAt: now, expiresAt: now + 1e10, resultSet };
  try {
    return await catalog.executions.complete(executionId, completion, lease.current);
  } catch (error) {
    await giveUp(error);
    throw error;
  }
};

/** The members that a runner uses. */
const partsOf = ({ executions, leases }: Catalog) => ({ executions, leases });

const stateOf = async (id: string) => (await catalog.executions.find(id))?.state;

test('a claimed run is executed with its values, and its result is published', async () => {
  const process = new Process('a');
  const { id } = await process.queue.submit({ query: QUERY, parameters: { n: '12.50' } });
  await process.runner.look();
  await process.runner.drained();
  assert.deepEqual(process.queries, [
    { sql: 'SELECT {{n}} AS n', parameters: [{ key: 'n', type: 'number', value: '12.50' }], sources: [] },
  ]);
  assert.deepEqual(process.kinds(), ['started', 'completed']);
  const execution = await catalog.executions.find(id);
  assert.deepEqual([execution?.state, execution?.parameters], ['COMPLETED', { n: '12.50' }]);
  assert.deepEqual(await catalog.leases.list(''), []);
});

test('how far the engine is, every process can tell', async () => {
  const process = new Process('a');
  const { id } = await process.queue.submit({ query: QUERY, parameters: {} });
  process.work = async (_signal, told) => {
    time.advance(3000);
    const renewed = time.nextSleep();
    told?.({ percent: 41 });
    await renewed;
    assert.deepEqual(await catalog.runs.findProgress(id), { percent: 41 });
    return { columns: COLUMNS, rowCount: 1 };
  };
  await process.runner.look();
  await process.runner.drained();
  assert.deepEqual(process.kinds(), ['started', 'completed']);
  assert.equal(await catalog.runs.findProgress(id), undefined);
});

test('a request that cannot be run is refused, and nothing is added', async () => {
  const { queue } = new Process('a');
  const refused = async (query: Parameters<RunQueue['submit']>[0]['query'], parameters = {}) => {
    const error = await queue.submit({ query, parameters }).catch((e: unknown) => e);
    assert.ok(error instanceof RequestError, String(error));
    return [error.status, error.code, error.message];
  };
  assert.deepEqual(await refused(QUERY, { Name: 'x' }), [400, 'invalid_query_parameter', 'unknown parameters (Name)']);
  assert.deepEqual(await refused({ id: 7, parameters: [], isArchived: false }), [
    400,
    'query_not_runnable',
    'query 7 has no SQL: its results are published by whoever runs it',
  ]);
  assert.deepEqual(
    (await refused({ ...QUERY, isArchived: true }))[2],
    'query 7 is archived: it is served, not run; unarchive it first',
  );
  assert.deepEqual(await catalog.executions.list({ limit: 10 }), []);
});

test('the number of waiting runs is limited for each key and for all keys together', async () => {
  const { queue } = new Process('a');
  const submit = (keyId: string) => queue.submit({ query: QUERY, parameters: {}, keyId });
  await submit('k');
  await submit('k');
  await assert.rejects(submit('k'), {
    code: 'too_many_runs',
    message: 'this key has 2 runs waiting, and may have no more',
  });
  await submit('l');
  await assert.rejects(submit('m'), { code: 'overloaded' });
});

test('with coalescing on, a request equal to a waiting or running run gets that run', async () => {
  const process = new Process('a', {}, true);
  const submit = async (n: string) => (await process.queue.submit({ query: QUERY, parameters: { n } })).id;
  const first = await submit('1');
  assert.equal(await submit('1'), first);
  assert.notEqual(await submit('2'), first);
  await process.runner.look();
  await process.runner.drained();
  assert.notEqual(await submit('1'), first);
});

test('a query that fails makes a failed run, with line and column', async () => {
  const process = new Process('a');
  process.work = async () => {
    throw new EngineError('syntax_error', 'no such column', { line: 3, column: 11 });
  };
  const { id } = await process.queue.submit({ query: QUERY, parameters: {} });
  await process.runner.look();
  await process.runner.drained();
  const error = { type: 'syntax_error', message: 'no such column', line: 3, column: 11 };
  assert.deepEqual((await catalog.executions.find(id))?.error, error);
  assert.deepEqual(await catalog.leases.list(''), []);
});

test('a run whose folder cannot be removed has ended as it has ended', async (t) => {
  const stagingDirectory = join(root, 'replaced');
  const process = new Process('a', { stagingDirectory });
  t.after(() => rm(stagingDirectory, { recursive: true, force: true }));
  process.work = async () => {
    // Rights would not keep root out; a file in the place of the folder above does.
    await rm(stagingDirectory, { recursive: true });
    await writeFile(stagingDirectory, '');
    return { columns: COLUMNS, rowCount: 1 };
  };
  await process.queue.submit({ query: QUERY, parameters: {} });
  await process.runner.look();
  await process.runner.drained();
  assert.deepEqual(process.kinds(), ['started', 'completed']);
  assert.deepEqual(process.faults, []);
});

test('a run that could not be begun does not say that its query ran', async (t) => {
  const stagingDirectory = join(root, 'no-folder');
  const process = new Process('a', { stagingDirectory });
  await writeFile(stagingDirectory, '');
  t.after(() => rm(stagingDirectory));
  process.work = async () => assert.fail('the query runs');
  const { id } = await process.queue.submit({ query: QUERY, parameters: {} });
  await process.runner.look();
  await process.runner.drained();
  const message = 'the query was not run, for a reason that is not its own; the log of the service says which';
  assert.deepEqual((await catalog.executions.find(id))?.error, { type: 'internal_error', message });
  const causes = process.events.flatMap((event) => (event.kind === 'failed' ? [String(event.cause)] : []));
  const problem = 'is not a folder, or lies in something that is none; remove it (ENOTDIR)';
  assert.deepEqual(causes, [`WorkspaceUnavailable: ${stagingDirectory} ${problem}`]);
});

test('a run whose engine found the disk full says so', async () => {
  const process = new Process('a');
  process.work = async () => {
    const cause = new Error('IO Error: Could not write file "/data/tmp/rows.parquet": No space left on device');
    throw new EngineError('engine_error', 'the query failed by a fault that is not its own; run it again', { cause });
  };
  const { id } = await process.queue.submit({ query: QUERY, parameters: {} });
  await process.runner.look();
  await process.runner.drained();
  const error = { type: 'storage_full', message: 'a disk of the service is full' };
  assert.deepEqual((await catalog.executions.find(id))?.error, error);
});

test('cancelling ends a waiting run at once and stops a running one', async () => {
  const process = new Process('a', { runningMax: 1 });
  process.hold();
  const running = await process.queue.submit({ query: QUERY, parameters: {} });
  const waiting = await process.queue.submit({ query: QUERY, parameters: {} });
  await process.runner.look();
  await process.queue.cancel(waiting.id);
  const stopped = process.next('cancelled');
  await process.queue.cancel(running.id);
  await stopped;
  await process.runner.drained();
  assert.deepEqual([await stateOf(running.id), await stateOf(waiting.id)], ['CANCELLED', 'CANCELLED']);
  assert.deepEqual(process.kinds(), ['started', 'cancelled']);
  assert.deepEqual(await catalog.leases.list(''), []);
});

test('a run that another process cancelled is stopped at the next look', async () => {
  const [a, b] = [new Process('a'), new Process('b')];
  a.hold();
  const { id } = await b.queue.submit({ query: QUERY, parameters: {} });
  await a.runner.look();
  await b.queue.cancel(id);
  await a.runner.look();
  await a.runner.drained();
  assert.deepEqual(a.kinds(), ['started', 'cancelled']);
});

test('a process that stops gives its runs back, and another process takes them up', async () => {
  const [a, b] = [new Process('a'), new Process('b')];
  a.hold();
  const { id } = await a.queue.submit({ query: QUERY, parameters: {} });
  await a.runner.look();
  a.stopping.abort(new Error('stopping'));
  await a.runner.drained();
  assert.deepEqual(a.kinds(), ['started', 'given_back']);
  await b.runner.look();
  await b.runner.drained();
  assert.equal(await stateOf(id), 'COMPLETED');
  assert.deepEqual(b.events[0], { executionId: id, queryId: 7, kind: 'started', claims: 1 });
});

/** Pauses end at once; renewals of leases sleep until the test moves the clock. */
const withoutPauses = {
  sleep: async (millis: number, signal: AbortSignal) =>
    millis < 10_000 ? undefined : await time.sleep(millis, signal),
};

test('a run whose result cannot be stored, since the store or the catalog is away, is no failed run: it is given back and run again', async () => {
  const failures = [new StoreUnavailable('the store is away'), new CatalogUnavailable('the catalog is away')];
  const process = new Process('a', {
    ...withoutPauses,
    publish: async (rows, signal) => {
      const failure = failures.shift();
      if (failure === undefined) return await publish(rows, signal);
      await rows.giveUp(failure);
      throw failure;
    },
  });
  const { id } = await process.queue.submit({ query: QUERY, parameters: {} });
  for (let look = 0; look < 3; look += 1) {
    await process.runner.look();
    await process.runner.drained();
  }
  assert.deepEqual(process.kinds(), ['started', 'given_back', 'started', 'given_back', 'started', 'completed']);
  assert.equal(await stateOf(id), 'COMPLETED');
  assert.deepEqual(process.faults, []);
});

test('a run whose dataset cannot be looked up, since the catalog is away, is given back at once', async () => {
  let lookUps = 0;
  const process = new Process('a', {
    ...withoutPauses,
    findDataset: async () => {
      lookUps += 1;
      if (lookUps <= 3) throw new CatalogUnavailable('the catalog is away');
      return undefined;
    },
  });
  const { id } = await process.queue.submit({ query: QUERY, parameters: {} });
  for (let look = 0; look < 4; look += 1) {
    await process.runner.look();
    await process.runner.drained();
  }
  assert.equal(await stateOf(id), 'COMPLETED');
  assert.deepEqual(process.faults, []);
});

test('a catalog that stays away while a run is given back is asked again', async () => {
  const { runs } = catalog;
  let attempts = 0;
  const giveBack = async (lease: Lease) => {
    attempts += 1;
    if (attempts < 3) throw new CatalogUnavailable('the catalog is away');
    return await runs.giveBack(lease);
  };
  const flaky = { claim: runs.claim.bind(runs), has: runs.has.bind(runs), giveBack } as Catalog['runs'];
  const process = new Process('a', { ...withoutPauses, catalog: { ...partsOf(catalog), runs: flaky } });
  process.work = async () => {
    throw new StoreUnavailable('the store is away');
  };
  await process.queue.submit({ query: QUERY, parameters: {} });
  await process.runner.look();
  await process.runner.drained();
  assert.deepEqual([attempts, process.kinds()], [3, ['started', 'given_back']]);
  assert.deepEqual(await catalog.leases.list(''), []);
});

test('a commit whose answer was lost while the process stopped is not taken for one that was not made', async () => {
  const held: boolean[] = [];
  const process = new Process('a', {
    publish: async (rows, signal) => {
      await publish(rows, signal);
      const failure = new Error('the connection broke after the commit');
      process.stopping.abort(new Error('stopping'));
      // Whoever publishes deletes what it stored when this says that the lease was still held.
      held.push(await rows.giveUp(failure));
      throw failure;
    },
  });
  const { id } = await process.queue.submit({ query: QUERY, parameters: {} });
  await process.runner.look();
  await process.runner.drained();
  assert.deepEqual([held, process.kinds(), await stateOf(id)], [[false], ['started', 'lost'], 'COMPLETED']);
});

test('a run whose process died is taken over at once, and is not started a fourth time', async () => {
  const dead = new Set<string>();
  const isLeaseOwnerDead = (owner: string) => dead.has(owner);
  const { id } = await new Process('x').queue.submit({ query: QUERY, parameters: {} });
  for (const owner of ['a', 'b', 'c']) {
    const process = new Process(owner, { isLeaseOwnerDead });
    process.hold();
    await process.runner.look();
    assert.deepEqual(process.kinds(), ['started']);
    dead.add(owner);
  }
  const last = new Process('d', { isLeaseOwnerDead });
  await last.runner.look();
  await last.runner.drained();
  assert.deepEqual((await catalog.executions.find(id))?.error, {
    type: 'engine_error',
    message: 'the process that ran the query ended before its time, 3 times',
  });
  assert.deepEqual(last.queries, []);
});

test('whether a run is being run goes by the clock that leases go by', async () => {
  const process = new Process('a');
  const { id } = await process.queue.submit({ query: QUERY, parameters: {} });
  const isRun = async (isDead = false) => await isBeingRun(id, catalog, () => isDead);
  assert.equal(await isRun(), false);
  await catalog.runs.claim({ owner: 'b', at: time.clock(), leaseMillis: LEASE_MILLIS, runningOfKeyMax: 1 });
  assert.deepEqual([await isRun(), await isRun(true)], [true, false]);
  // The catalog's clock alone: that of this host does not count.
  const behind = { leases: catalog.leases, now: async () => time.clock() + LEASE_MILLIS + 1 };
  assert.equal(await isBeingRun(id, behind, () => false), false);
});

test('a process that slept while its run was taken over changes nothing', async () => {
  const [a, b] = [new Process('a'), new Process('b')];
  // The process is frozen: it renews no lease, and later goes on as if nothing had happened.
  const { finish, begun } = a.hold();
  const { id } = await a.queue.submit({ query: QUERY, parameters: {} });
  await a.runner.look();
  await begun(1);
  const [lease] = await catalog.leases.list('write:');
  assert.ok(lease !== undefined);
  await catalog.leases.revoke(lease);
  const theirs = b.hold();
  await b.runner.look();
  await theirs.begun(1);
  finish();
  await a.runner.drained();
  assert.deepEqual(a.kinds(), ['started', 'lost']);
  assert.equal(await stateOf(id), 'EXECUTING');
  theirs.finish();
  await b.runner.drained();
  assert.deepEqual(b.kinds(), ['started', 'completed']);
});

test('a process that comes upon its own run, since its lease ran out meanwhile, runs it once more and keeps count of both', async () => {
  // The machine was suspended, or its clock was set ahead: the look at the queue comes before the renewal.
  const process = new Process('a');
  const { begun } = process.hold();
  const { id } = await process.queue.submit({ query: QUERY, parameters: {} });
  await process.runner.look();
  await begun(1);
  const [lease] = await catalog.leases.list('write:');
  assert.ok(lease !== undefined);
  await catalog.leases.revoke(lease);
  const changed = process.runner.nextChange();
  await process.runner.look();
  await begun(2);
  await changed;
  assert.deepEqual(process.kinds(), ['started', 'started', 'lost']);
  await process.queue.cancel(id);
  await process.runner.drained();
  assert.deepEqual(process.kinds(), ['started', 'started', 'lost', 'cancelled']);
});

test('where the clock was set back, the runs of a process that died are taken over as before', async () => {
  const dead = new Set<string>();
  const isLeaseOwnerDead = (owner: string) => dead.has(owner);
  const [a, b] = [new Process('a', { isLeaseOwnerDead }), new Process('b', { isLeaseOwnerDead })];
  a.hold();
  await b.runner.look();
  const { id } = await a.queue.submit({ query: QUERY, parameters: {} });
  await a.runner.look();
  time.moveTo(time.clock() - 10 * 3_600_000);
  dead.add('a');
  await b.runner.look();
  await b.runner.drained();
  assert.equal(await stateOf(id), 'COMPLETED');
});

test('a process claims no more runs than it has room for, and only so many of one key', async () => {
  const process = new Process('a', { runningMax: 3 });
  const { finish, begun } = process.hold();
  const submit = async (keyId: string) => (await process.queue.submit({ query: QUERY, parameters: {}, keyId })).id;
  const [first, second, third] = [await submit('k'), await submit('k'), await submit('l')];
  await process.runner.look();
  assert.deepEqual(await Promise.all([first, second, third].map(stateOf)), ['EXECUTING', 'PENDING', 'EXECUTING']);
  await begun(2);
  const completed = process.next('completed');
  finish();
  await completed;
  await process.runner.look();
  assert.equal(await stateOf(second), 'EXECUTING');
});

test('a submitted run wakes the loop before its next poll, and stopping waits for the runs in progress', async () => {
  const process = new Process('a');
  const asleep = time.nextSleep();
  const loop = runQueued(process.deps, process.stopping.signal);
  await asleep;
  const completed = process.next('completed');
  await process.queue.submit({ query: QUERY, parameters: {} });
  await completed;
  process.hold();
  const started = process.next('started');
  await process.queue.submit({ query: QUERY, parameters: {} });
  await started;
  process.stopping.abort(new Error('stopping'));
  await loop;
  assert.deepEqual(process.kinds(), ['started', 'completed', 'started', 'given_back']);
  assert.deepEqual(process.faults, []);
});
