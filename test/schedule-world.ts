/**
 * What the tests of the schedule share: a real catalog for each test, a fake clock, and processes with a schedule and a
 * runner, whose engine the test controls.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach } from 'node:test';
import { monotonicFactory } from 'ulid';
import type { Catalog } from '../src/catalog/catalog.ts';
import { openSqliteCatalog } from '../src/catalog/sqlite/sqlite-catalog.ts';
import { columnsOf, type Dataset } from '../src/datasets/dataset.ts';
import { isCurated, registerDatasets } from '../src/datasets/register.ts';
import type { Clock } from '../src/domain/instant.ts';
import type { Engine, Materialized } from '../src/engine/engine.ts';
import type { PublishRun, RunEvent } from '../src/runs/run-claimed.ts';
import { RunQueue } from '../src/runs/run-queue.ts';
import { Runner, type RunnerDeps } from '../src/runs/runner.ts';
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
  world.time = new FakeTime(at('10:07'));
  world.catalog = await openSqliteCatalog(join(root, `catalog-${catalogs}.sqlite`), {
    clock: () => world.time.clock(),
    sleep,
  });
  await registerDatasets(world.catalog, [QUARTERLY], world.time.clock());
});

export interface ProcessOptions {
  readonly schedule?: Partial<ScheduleDeps>;
  readonly runs?: Partial<RunnerDeps>;
  readonly clock?: Clock;
  readonly isSetUp?: () => Promise<boolean>;
  readonly signal?: AbortSignal;
}

/** Stands for one `qrs serve`: its schedule and its runner, and what has happened in them. */
export class Process {
  readonly events: RunEvent[] = [];
  readonly faults: unknown[] = [];
  readonly queue: RunQueue;
  readonly schedule: Schedule;
  readonly scheduleDeps: ScheduleDeps;
  readonly runner: Runner;
  readonly #signal: AbortSignal;
  readonly #watchers = new Map<string, () => void>();
  /** Runs in place of the SQL; by default it makes one row. */
  work: (signal: AbortSignal) => Promise<Materialized> = async () => ({ columns: COLUMNS, rowCount: 1 });

  constructor(owner: string, options: ProcessOptions = {}) {
    const { catalog, time } = world;
    const { clock = time.clock, isSetUp = async () => true, signal = running } = options;
    this.#signal = signal;
    const limits = { waitingMax: 10, waitingOfKeyMax: 10 };
    this.queue = new RunQueue({ catalog, clock, newExecutionId: (now) => nextId(now), limits, coalesce: false });
    const onFault = (_what: string, error: unknown) => this.faults.push(error);
    this.scheduleDeps = {
      catalog,
      clock,
      sleep: time.sleep,
      queries: {
        list: async () => {
          const queries = await catalog.queries.list({ runsOnSchedule: true });
          return queries.map((query) => ({ query, since: isCurated(query) ? 0 : query.scheduledAt, isSetUp }));
        },
        submit: async (query, tick) =>
          (await this.queue.submitScheduled({ query, tick, isLimited: !isCurated(query) })) !== undefined,
      },
      tasks: [],
      pollMillis: 10_000,
      onFault,
      ...options.schedule,
    };
    this.schedule = new Schedule(this.scheduleDeps);
    const runnerDeps = {
      catalog,
      engine: this.#engine(),
      sources: [],
      findDataset: async (id: number) => (id === QUARTERLY.queryId ? QUARTERLY : undefined),
      publish,
      queue: this.queue,
      clock,
      sleep: time.sleep,
      owner,
      isLeaseOwnerDead: () => false,
      leaseMillis: LEASE_MILLIS,
      runningMax: 2,
      runningOfKeyMax: 1,
      pollMillis: 1000,
      stagingDirectory: join(root, 'staging', owner),
      observe: (event: RunEvent) => this.#observe(event),
      onFault,
      ...options.runs,
    };
    this.runner = new Runner(runnerDeps, signal);
  }

  /** Puts into the queue what is due, and claims what it has room for. */
  async look(): Promise<void> {
    await this.schedule.runDue(this.#signal);
    await this.runner.look();
  }

  /** The same, and then runs it to its end. */
  async turn(): Promise<void> {
    await this.look();
    await this.runner.drained();
  }

  kinds(): readonly string[] {
    return this.events.map(({ kind }) => kind);
  }

  #engine(): Engine {
    return {
      materialize: (_query, _path, signal) => this.work(signal),
      check: async () => undefined,
      hasAny: async () => true,
      async [Symbol.asyncDispose]() {},
    };
  }

  #observe(event: RunEvent): void {
    this.events.push(event);
    this.#watchers.get(event.kind)?.();
  }

  /** Resolves at the next event of this kind. */
  next(kind: RunEvent['kind']): Promise<void> {
    return new Promise((resolve) => this.#watchers.set(kind, resolve));
  }

  /** Makes the next run wait. Resolves when it has begun; `finish` ends it. */
  hold(): Promise<{ readonly finish: () => void }> {
    return new Promise((begun) => {
      this.work = (signal) =>
        new Promise((resolve, reject) => {
          if (signal.aborted) reject(signal.reason);
          signal.addEventListener('abort', () => reject(signal.reason), { once: true });
          begun({ finish: () => resolve({ columns: COLUMNS, rowCount: 1 }) });
        });
    });
  }
}

/** Completes the run with an empty result, as publishing would. */
export const publish: PublishRun = async ({ executionId, lease, giveUp }) => {
  const now = world.time.clock();
  const resultSet = { columns: COLUMNS, rowCount: 0, cellBytes: 0, truncated: false, parts: [] };
  const completion = { startedAt: now, endedAt: now, expiresAt: now + 90 * 86_400_000, resultSet };
  try {
    return await world.catalog.executions.complete(executionId, completion, lease.current);
  } catch (error) {
    await giveUp(error);
    throw error;
  }
};

/** The states of all runs, oldest first. */
export async function states(queryId: number = QUARTERLY.queryId): Promise<readonly string[]> {
  const executions = await world.catalog.executions.list({ queryId, limit: 1000 });
  return executions.map((execution) => execution.state).toReversed();
}
