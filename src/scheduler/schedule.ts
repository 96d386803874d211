/**
 * The schedule: which dataset is due, who refreshes it, and when to look again. Every process of the service runs this loop;
 * the catalog decides among them. One thing at a time in each process: refreshes are heavy, and a process that is busy leaves
 * what else is due to the others.
 *
 * A tick is run by the one process that holds the dataset's lease and claims the tick. Of several ticks missed only the last
 * is claimed, and one that a wrong clock has claimed far ahead of time is as if nobody had. A refresh whose process died is owed by the one process that reclaims its lease. A dataset that nobody has set
 * up is never due.
 */
import type { Catalog } from '../catalog/catalog.ts';
import type { Dataset } from '../datasets/dataset.ts';
import type { Datasets } from '../datasets/registry.ts';
import { type Cron, lastTick, nextTick, parseCron } from '../domain/cron.ts';
import { CLOCKS_APART_MILLIS, type Instant } from '../domain/instant.ts';
import { isStorageFull } from '../errors/storage-full.ts';
import type { KeptLease } from '../leases/kept-lease.ts';
import { acquireRefreshLease, type RefreshLeaseOptions, reclaimAbandoned } from '../leases/refresh-lease.ts';
import { DueQueries, type ScheduledQueries } from './due-queries.ts';
import { type RefreshDeps, type RefreshOutcome, refreshDataset } from './refresh.ts';

export interface ScheduleDeps extends RefreshDeps, RefreshLeaseOptions {
  readonly catalog: Pick<Catalog, 'executions' | 'leases' | 'ticks'>;
  readonly datasets: Datasets;
  /** False while there is nothing that the dataset could be made of, nor ever was. */
  readonly isSetUp: (dataset: Dataset) => Promise<boolean>;
  /** Queries that are run at times of their own: each tick puts one run into the queue. */
  readonly queries: ScheduledQueries;
  /** Other work with a time of its own, such as the sweep. One process does it at each tick. */
  readonly tasks: readonly ScheduledTask[];
  /** What is left to do for a dataset after a refresh: to prune superseded results. */
  readonly afterRefresh: (dataset: Dataset, signal: AbortSignal) => Promise<void>;
  /** The longest time between two looks at the catalog: how soon an abandoned refresh is noticed. */
  readonly pollMillis: number;
  /** Something other than a refresh failed: the schedule goes on. */
  readonly onFault: (what: string, error: unknown) => void;
}

/** What one refresh needs that no schedule asked for. */
export type RefreshNowDeps = Omit<ScheduleDeps, 'datasets' | 'isSetUp' | 'queries' | 'tasks' | 'pollMillis'>;

export interface ScheduledTask {
  readonly name: string;
  /** A cron expression in UTC. */
  readonly schedule: string;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Runs until the signal is aborted, and then ends once what it was doing has ended. */
export async function runSchedule(deps: ScheduleDeps, signal: AbortSignal): Promise<void> {
  const schedule = new Schedule(deps);
  while (!signal.aborted) {
    await schedule.runDue(signal);
    const wait = Math.min(deps.pollMillis, schedule.nextTick() - deps.clock());
    await deps.sleep(Math.max(wait, 1), signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}

/** One dataset, now, whatever its schedule says. Undefined when it is being refreshed already. */
export async function refreshNow(
  dataset: Dataset,
  deps: RefreshNowDeps,
  signal: AbortSignal,
): Promise<RefreshOutcome | undefined> {
  await reclaimAbandoned(deps);
  await using lease = await acquireRefreshLease(dataset.name, deps);
  return lease === undefined ? undefined : await refreshHolding(dataset, lease, deps, signal);
}

async function refreshHolding(
  dataset: Dataset,
  lease: KeptLease,
  deps: Pick<ScheduleDeps, 'afterRefresh' | 'onFault'> & RefreshDeps,
  signal: AbortSignal,
): Promise<RefreshOutcome> {
  const outcome = await refreshDataset(dataset, lease, deps, signal);
  if (outcome.kind === 'interrupted') await lease.abandon();
  if (outcome.kind === 'refreshed') {
    await deps.afterRefresh(dataset, signal).catch((error: unknown) => {
      if (!signal.aborted) deps.onFault(`pruning ${dataset.name}`, error);
    });
  }
  return outcome;
}

/** The looks at the catalog, without the waiting in between. */
export class Schedule {
  readonly #deps: ScheduleDeps;
  readonly #datasets: readonly { readonly dataset: Dataset; readonly cron: Cron }[];
  readonly #tasks: readonly { readonly task: ScheduledTask; readonly cron: Cron }[];
  readonly #queries: DueQueries;
  /** Datasets that this process has to refresh whatever the ticks say: it claimed the tick, or reclaimed an abandoned lease. */
  readonly #owed = new Set<string>();
  /** The last tick of each schedule that this process claimed: where clocks disagree another may take a claim for a wrong one. */
  readonly #claimed = new Map<string, Instant>();

  constructor(deps: ScheduleDeps) {
    this.#deps = deps;
    this.#datasets = deps.datasets.map((dataset) => ({ dataset, cron: parseCron(dataset.schedule) }));
    this.#queries = new DueQueries(deps);
    this.#tasks = deps.tasks.map((task) => ({ task, cron: parseCron(task.schedule) }));
  }

  /** The next moment at which something is due. */
  nextTick(): number {
    const now = this.#deps.clock();
    const crons = [...this.#datasets, ...this.#tasks].map(({ cron }) => cron);
    return Math.min(...[...crons, ...this.#queries.crons].map((cron) => nextTick(cron, now)));
  }

  /** Does what is due now and not done by another process. */
  async runDue(signal: AbortSignal): Promise<void> {
    await this.#guard('looking for abandoned refreshes', signal, async () => {
      for (const name of await reclaimAbandoned(this.#deps)) this.#owed.add(name);
    });
    for (const { dataset, cron } of this.#datasets) {
      await this.#guard(`refreshing ${dataset.name}`, signal, () => this.#refreshIfDue(dataset, cron, signal));
    }
    await this.#guard('looking for scheduled queries', signal, async () => {
      for (const { query, tick } of await this.#queries.listDue()) {
        await this.#guard(`scheduling query ${query.id}`, signal, () => this.#queries.submit(query, tick));
      }
    });
    for (const { task, cron } of this.#tasks) {
      await this.#guard(task.name, signal, async () => {
        const claimed = await this.#claim(task.name, lastTick(cron, this.#deps.clock())).catch((error: unknown) => {
          // A full disk takes no claim, and the sweep is what frees it; done by several processes at once it does no harm.
          if (!isStorageFull(error)) throw error;
          return true;
        });
        if (claimed) await task.run(signal);
      });
    }
  }

  async #refreshIfDue(dataset: Dataset, cron: Cron, signal: AbortSignal): Promise<void> {
    const { catalog, clock } = this.#deps;
    const tick = lastTick(cron, clock());
    const last = await catalog.ticks.findLast(tickName(dataset));
    const isBelieved = last !== undefined && last <= clock() + CLOCKS_APART_MILLIS;
    if (isBelieved && last >= tick && !this.#owed.has(dataset.name)) return;
    if (!(await this.#deps.isSetUp(dataset))) return;
    // The lease first: a process that dies from here on leaves it behind, and with it the duty to refresh.
    await using lease = await acquireRefreshLease(dataset.name, this.#deps);
    if (lease === undefined) return;
    const claimed = await this.#claim(tickName(dataset), tick);
    if (!claimed && !this.#owed.has(dataset.name)) return;
    // Owed until there is an outcome: when the catalog fails in between, the next look tries again.
    this.#owed.add(dataset.name);
    await refreshHolding(dataset, lease, this.#deps, signal);
    this.#owed.delete(dataset.name);
  }

  async #claim(schedule: string, tick: Instant): Promise<boolean> {
    const { catalog, clock } = this.#deps;
    if (this.#claimed.get(schedule) === tick) return false;
    if (!(await catalog.ticks.claim(schedule, tick, clock()))) return false;
    this.#claimed.set(schedule, tick);
    return true;
  }

  async #guard(what: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    if (signal.aborted) return;
    try {
      await work();
    } catch (error) {
      if (!signal.aborted) this.#deps.onFault(what, error);
    }
  }
}

function tickName(dataset: Dataset): string {
  return `refresh:${dataset.name}`;
}
