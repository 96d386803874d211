/** What the tests of the schedule share: a real catalog for each test, a fake clock, and an engine that the test controls. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach } from 'node:test';
import { monotonicFactory } from 'ulid';
import type { Catalog } from '../src/catalog/catalog.ts';
import { openSqliteCatalog } from '../src/catalog/sqlite/sqlite-catalog.ts';
import { columnsOf, type Dataset } from '../src/datasets/dataset.ts';
import { registerDatasets } from '../src/datasets/register.ts';
import type { Engine, Materialized } from '../src/engine/engine.ts';
import type { PublishRefresh, RefreshEvent } from '../src/scheduler/refresh.ts';
import { Schedule, type ScheduleDeps } from '../src/scheduler/schedule.ts';
import { FakeTime } from './fake-time.ts';
import { sleep } from './real-time.ts';

export const LEASE_MILLIS = 30_000;
// Runs submitted in the same millisecond are in the order of their submission.
export const nextId = monotonicFactory();
export const MINUTE = 60_000;
export const at = (time: string) => Date.parse(`2024-03-05T${time}:00Z`);

export const COLUMNS = columnsOf({ n: 'bigint' });
export const QUARTERLY: Dataset = {
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

export const root = await mkdtemp(join(tmpdir(), 'qrs-schedule-'));
after(() => rm(root, { recursive: true, force: true }));

/** Made anew for each test. */
export const world = {} as { catalog: Catalog; time: FakeTime };
let catalogs = 0;
export const running = new AbortController().signal;

beforeEach(async () => {
  catalogs += 1;
  world.catalog = await openSqliteCatalog(join(root, `catalog-${catalogs}.sqlite`), { sleep });
  world.time = new FakeTime(at('10:07'));
  await registerDatasets(world.catalog, [QUARTERLY], world.time.clock());
});

/** Stands for one `qrs serve`: its schedule, and what has happened in it. */
export class Process {
  readonly events: string[] = [];
  readonly faults: unknown[] = [];
  readonly #watchers = new Map<string, () => void>();
  readonly deps: ScheduleDeps;
  readonly schedule: Schedule;
  /** Runs in place of the SQL; by default it makes one row. */
  work: (signal: AbortSignal) => Promise<Materialized> = async () => ({ columns: COLUMNS, rowCount: 1 });

  constructor(owner: string, more: Partial<ScheduleDeps> = {}) {
    const engine: Engine = {
      materialize: (_query, _path, signal) => this.work(signal),
      check: async () => undefined,
      hasAny: async () => true,
      async [Symbol.asyncDispose]() {},
    };
    this.deps = {
      catalog: world.catalog,
      engine,
      publish,
      datasets: [QUARTERLY],
      isSetUp: async () => true,
      queries: { list: async () => [], submit: async () => undefined },
      tasks: [],
      clock: world.time.clock,
      sleep: world.time.sleep,
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

  /** Resolves at the next event of this kind. */
  next(kind: RefreshEvent['kind']): Promise<void> {
    return new Promise((resolve) => this.#watchers.set(kind, resolve));
  }

  /** Makes the next refresh wait. Resolves when it has begun; `finish` ends it. */
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
export const publish: PublishRefresh = async ({ executionId, columns }) => {
  const now = world.time.clock();
  const lease = await world.catalog.leases.acquire(`write:${executionId}`, 'publisher', now, LEASE_MILLIS);
  assert.ok(lease !== undefined);
  const resultSet = { columns, rowCount: 0, cellBytes: 0, truncated: false, parts: [] };
  const completion = { startedAt: now, endedAt: now, expiresAt: now + 90 * 86_400_000, resultSet };
  return await world.catalog.executions.complete(executionId, completion, lease);
};

/** The states of all runs, oldest first. */
export async function states(): Promise<readonly string[]> {
  const executions = await world.catalog.executions.list({ queryId: QUARTERLY.queryId, limit: 1000 });
  return executions.map((execution) => execution.state).toReversed();
}
