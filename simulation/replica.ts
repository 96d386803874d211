/**
 * One process of the service in the simulated world: the parts that coordinate, as src/compose/ puts them together, over simulated
 * catalog, store, engine and disk. What it does for clients is in workload.ts.
 */
import type { Catalog } from '../src/catalog/catalog.ts';
import { pruneSuperseded } from '../src/datasets/prune.ts';
import type { Clock } from '../src/domain/instant.ts';
import type { UsageBatch, Use } from '../src/domain/usage.ts';
import type { IdempotencyDeps } from '../src/http/writing/idempotency.ts';
import { findPrincipal } from '../src/keys/find-principal.ts';
import { ReadLeases } from '../src/leases/read-leases.ts';
import { watchClock } from '../src/maintenance/clock-watch.ts';
import { type SweepDependencies, sweep } from '../src/maintenance/sweep.ts';
import type { Observation } from '../src/observation/observation.ts';
import { RequestStats } from '../src/observation/request-stats.ts';
import { UsageMeter } from '../src/observation/usage-meter.ts';
import { publishStaged, type StagedRows, type WriteDependencies } from '../src/publishing/publish-staged.ts';
import { CatalogCache } from '../src/results/cache/catalog-cache.ts';
import type { EngineRows } from '../src/runs/run-claimed.ts';
import { RunQueue } from '../src/runs/run-queue.ts';
import { runQueued } from '../src/runs/runner.ts';
import { runSchedule } from '../src/scheduler/schedule.ts';
import type { ResultStore } from '../src/store/result-store.ts';
import { folderOf, type SimulatedDisks } from './disk.ts';
import { DividedLimit } from './divided-limit.ts';
import { SimulatedEngine, stagedRows } from './engine.ts';
import type { Host } from './host.ts';
import type { Invariants } from './invariants/invariants.ts';
import { KEPT } from './invariants/results.ts';
import type { BrokenParts } from './mutations.ts';

export const TIMES = {
  leaseMillis: 9000,
  readTimeoutMillis: 20_000,
  /** Results are kept for so long: a world has a few minutes, in which many of them are to expire. */
  retentionMillis: 80_000,
  usageMillis: 10_000,
  pollMillis: 4000,
  stalenessMaxMillis: 4000,
} as const;

/** Of the queries in world.ts: the one that is run most often. */
const PRUNED_QUERY = 2;
const DAY_MILLIS = 86_400_000;
const CACHE_BYTES = 1_000_000;
const SWEEP_STEP = 200;
const LIMITS = { waitingMax: 30, waitingOfKeyMax: 10 };

export interface ReplicaParts extends Pick<BrokenParts, 'readClock' | 'sweep' | 'limitParts'> {
  readonly host: Host;
  readonly machine: string;
  readonly catalog: Catalog;
  readonly store: ResultStore;
  readonly disks: SimulatedDisks;
  readonly invariants: Invariants;
  /** Ids of executions, and of what else needs one. */
  readonly newId: (at: number) => string;
  readonly random: () => number;
}

export class Replica {
  readonly host: Host;
  readonly catalog: Catalog;
  readonly store: ResultStore;
  /** What reads go by. */
  readonly readClock: Clock;
  readonly queue: RunQueue;
  readonly cache: CatalogCache;
  readonly meter: UsageMeter;
  readonly readLeases: ReadLeases;
  readonly limit: DividedLimit;
  readonly stopping = new AbortController();
  readonly #parts: ReplicaParts;
  /** Requests by key that this process has counted and, as far as it knows, not written. */
  readonly #unwritten = new Map<string, number>();

  constructor(parts: ReplicaParts) {
    const { host, catalog, store, invariants } = parts;
    this.#parts = parts;
    this.host = host;
    this.catalog = catalog;
    this.store = store;
    const { clock } = host;
    this.readClock = parts.readClock ?? clock;
    this.queue = new RunQueue({ catalog, clock, newExecutionId: parts.newId, limits: LIMITS, coalesce: true });
    const find = async (key: string) => await findPrincipal(catalog.principals, key);
    // The real event loop's numbers would be others each time.
    const turnNumber = () => 0;
    this.cache = new CatalogCache(CACHE_BYTES, catalog, find, async () => false, turnNumber);
    const add = async (uses: readonly Use[], batch?: UsageBatch) => {
      await catalog.usage.add(uses, batch);
      for (const { keyId, requests } of uses) this.#unwritten.set(keyId, (this.#unwritten.get(keyId) ?? 0) - requests);
    };
    const usage = { add, sum: catalog.usage.sum.bind(catalog.usage) };
    const observe = (event: Observation) => invariants.observe(host, event);
    this.meter = new UsageMeter({ usage, observe, writer: host.name });
    const newId = () => parts.newId(clock());
    const onError = (error: unknown) => invariants.fault(host, 'a read lease', error);
    this.limit = new DividedLimit(parts);
    this.readLeases = new ReadLeases({ ...this.#leaseOptions(), newId, onError });
  }

  /** Starts what goes on by itself. Ends when `stopping` is aborted. */
  async run(): Promise<void> {
    const { host, catalog, invariants } = this.#parts;
    const { signal } = this.stopping;
    const onError = (error: unknown) => invariants.fault(host, 'the clock watch', error);
    const onJump = () => invariants.clockJumped(host);
    await Promise.all([
      runSchedule(this.#scheduleDeps(), signal),
      runQueued(this.#runnerDeps(), signal),
      this.limit.run(signal),
      this.meter.run(TIMES.usageMillis, host.sleep, signal),
      watchClock({ catalog, clock: host.clock, sleep: host.sleep, onJump, onError }, signal),
    ]);
  }

  /** Stores a result that some engine elsewhere has made. @param executionId of a run that was begun before */
  async publish(queryId: number, rows: StagedRows, executionId?: string): Promise<string> {
    const request = { queryId, ...(executionId !== undefined && { executionId }) };
    const { id } = await publishStaged(this.#writeDependencies(), request, WRITE_OPTIONS, rows, this.stopping.signal);
    return id;
  }

  async sweep(): Promise<void> {
    for (;;) {
      const swept = await sweep(this.#sweepDependencies(), SWEEP_STEP, this.stopping.signal);
      if (swept.expired + swept.orphans + swept.bytes === 0) return;
    }
  }

  get #staging(): string {
    return `${folderOf(this.#parts.machine)}/staging`;
  }

  #leaseOptions() {
    const { host, catalog } = this.#parts;
    const { clock, sleep, name: owner } = host;
    return { catalog, clock, sleep, owner, leaseMillis: TIMES.leaseMillis };
  }

  #writeDependencies(): WriteDependencies {
    const { host, catalog, store, newId } = this.#parts;
    const { clock, sleep, name: owner } = host;
    return { catalog, store, stagingDirectory: this.#staging, clock, sleep, newId: () => newId(clock()), owner };
  }

  #scheduleDeps() {
    const { host, catalog, invariants } = this.#parts;
    const queries = {
      list: async () => {
        const found = await catalog.queries.list({ runsOnSchedule: true });
        return found.map((query) => ({ query, since: 0, isSetUp: async () => true }));
      },
      submit: async (query: Parameters<RunQueue['submitScheduled']>[0]['query'], tick: number) => {
        const execution = await this.queue.submitScheduled({ query, tick, isLimited: true });
        if (execution !== undefined) {
          invariants.runs.accept(execution.id);
          invariants.runs.tickRun(`query:${query.id} ${tick}`, execution.id);
        }
        return execution !== undefined;
      },
    };
    const tasks = [{ name: 'sweep', schedule: '* * * * *', run: async () => await this.sweep() }];
    const onFault = (what: string, error: unknown) => invariants.fault(host, what, error);
    const { clock, sleep } = host;
    // biome-ignore lint/suspicious/noExplicitAny: the queries that the catalog lists are those that `submit` is given.
    return { catalog, clock, sleep, queries: queries as any, tasks, pollMillis: TIMES.pollMillis, onFault };
  }

  #runnerDeps() {
    const { host, disks, invariants, random } = this.#parts;
    const engine = new SimulatedEngine(host, disks, random);
    return {
      ...this.#leaseOptions(),
      engine,
      sources: [],
      findDataset: async () => undefined,
      publish: async (rows: EngineRows, signal: AbortSignal) => await this.#publishRun(rows, signal),
      stagingDirectory: this.#staging,
      queue: this.queue,
      isLeaseOwnerDead: () => false,
      runningMax: 2,
      runningOfKeyMax: 3,
      pollMillis: TIMES.pollMillis,
      observe: () => undefined,
      onFault: (what: string, error: unknown) => invariants.fault(host, what, error),
    };
  }

  async #publishRun({ executionId, queryId, path, lease, giveUp }: EngineRows, signal: AbortSignal) {
    const { disks, random } = this.#parts;
    await disks.readFile(path);
    const rows = stagedRows(disks, random);
    const request = { queryId, executionId, held: { lease, giveUp } };
    const execution = await publishStaged(this.#writeDependencies(), request, WRITE_OPTIONS, rows, signal);
    // As src/compose/runs.ts does it for datasets.
    if (queryId === PRUNED_QUERY) await this.#prune(signal);
    return execution;
  }

  async #prune(signal: AbortSignal): Promise<void> {
    const { host, catalog, invariants } = this.#parts;
    const now = host.clock();
    await pruneSuperseded(PRUNED_QUERY, KEPT, { catalog, now }, signal).catch((error: unknown) => {
      if (!signal.aborted) invariants.fault(host, 'pruning', error);
    });
  }

  /** What carries out a request once. */
  get idempotency(): IdempotencyDeps {
    const { catalog, host } = this.#parts;
    return { catalog, clock: host.clock, leases: this.#leaseOptions() };
  }

  #sweepDependencies(): SweepDependencies {
    const { host, catalog, store, machine, sweep: broken } = this.#parts;
    return {
      catalog,
      store,
      stagingDirectory: this.#staging,
      derivedDirectory: `${folderOf(machine)}/derived`,
      clock: host.clock,
      readTimeoutMillis: TIMES.readTimeoutMillis,
      trust: { shareMax: 0.5, confirmed: false },
      reserve: { during: async (work) => await work() },
      ...broken,
    };
  }

  /** An answer was given to a key. */
  answered(keyId: string, queryId: number): void {
    const { host, invariants } = this.#parts;
    this.#unwritten.set(keyId, (this.#unwritten.get(keyId) ?? 0) + 1);
    invariants.usage.answered(keyId);
    const stats = Object.assign(new RequestStats(), { queryId });
    this.meter.observe({
      ...{ kind: 'answered', requestId: '', keyId, method: 'GET', route: undefined, status: 200, aborted: false },
      ...{ startedAt: host.clock(), millis: 0, traceparent: undefined, stats },
    });
  }

  kill(silently: boolean): void {
    const { host, invariants } = this.#parts;
    host.kill(silently);
    invariants.usage.lost(this.#unwritten);
  }
}

const WRITE_OPTIONS = { retentionDays: TIMES.retentionMillis / DAY_MILLIS, leaseMillis: TIMES.leaseMillis };
