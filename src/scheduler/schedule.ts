/**
 * The schedule: what is due, and when to look again. Every process of the service runs this loop; the catalog decides among them.
 * Queries that are due, the curated datasets among them, become runs in the queue, which any process runs (src/runs); a task, such as
 * the sweep, is done here, by the one process that claims its tick.
 */
import type { Catalog } from '../catalog/catalog.ts';
import { type Cron, lastTick, nextTick, parseCron } from '../domain/cron.ts';
import type { Clock, Instant } from '../domain/instant.ts';
import { pause, type Sleep } from '../domain/time.ts';
import { isStorageFull } from '../errors/storage-full.ts';
import { DueQueries, type ScheduledQueries } from './due-queries.ts';

export interface ScheduleDeps {
  readonly catalog: Pick<Catalog, 'ticks'>;
  readonly clock: Clock;
  readonly sleep: Sleep;
  /** Queries with schedules: each tick puts one run into the queue. */
  readonly queries: ScheduledQueries;
  /** Other scheduled work, such as the sweep. One process does it at each tick. */
  readonly tasks: readonly ScheduledTask[];
  /** The longest time between two looks at the catalog: how soon a tick that found no place is tried again. */
  readonly pollMillis: number;
  /** Told when something failed. The schedule goes on. */
  readonly onFault: (what: string, error: unknown) => void;
}

export interface ScheduledTask {
  readonly name: string;
  /** A cron expression in UTC. */
  readonly schedule: string;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Runs until the signal is aborted. Ends when the work in progress has ended. */
export async function runSchedule(deps: ScheduleDeps, signal: AbortSignal): Promise<void> {
  const schedule = new Schedule(deps);
  // Beside the queries: a sweep of a large store takes longer than from one tick to the next.
  let tasks: Promise<void> | undefined;
  while (!signal.aborted) {
    await schedule.submitDue(signal);
    tasks ??= schedule.runTasks(signal).finally(() => {
      tasks = undefined;
    });
    const wait = Math.min(deps.pollMillis, schedule.nextTick() - deps.clock());
    await pause(Math.max(wait, 1), deps.sleep, signal);
  }
  await tasks;
}

/** The looks at the catalog, without the waiting in between. */
export class Schedule {
  readonly #deps: ScheduleDeps;
  readonly #tasks: readonly { readonly task: ScheduledTask; readonly cron: Cron }[];
  readonly #queries: DueQueries;
  /** As in DueQueries. */
  readonly #claimed = new Map<string, Instant>();

  constructor(deps: ScheduleDeps) {
    this.#deps = deps;
    this.#queries = new DueQueries(deps);
    this.#tasks = deps.tasks.map((task) => ({ task, cron: parseCron(task.schedule) }));
  }

  /** When something is due next, as of the last look. */
  nextTick(): number {
    const now = this.#deps.clock();
    return Math.min(this.#queries.nextTick, ...this.#tasks.map(({ cron }) => nextTick(cron, now)));
  }

  /** Does what is due now and not claimed by another process. */
  async runDue(signal: AbortSignal): Promise<void> {
    await this.submitDue(signal);
    await this.runTasks(signal);
  }

  async submitDue(signal: AbortSignal): Promise<void> {
    await this.#guard('looking for scheduled queries', signal, async () => {
      for await (const due of this.#queries.listDue(signal)) {
        if (signal.aborted) return;
        await this.#guard(`scheduling query ${due.query.id}`, signal, () => this.#queries.submit(due));
      }
    });
  }

  /** One after the other. */
  async runTasks(signal: AbortSignal): Promise<void> {
    for (const { task, cron } of this.#tasks) {
      await this.#guard(task.name, signal, async () => {
        const claimed = await this.#claim(task.name, lastTick(cron, this.#deps.clock())).catch((error: unknown) => {
          // On a full disk no tick can be claimed, and the sweep is what frees it. It does no harm if several processes sweep
          // at once.
          if (!isStorageFull(error)) throw error;
          return true;
        });
        if (claimed) await task.run(signal);
      });
    }
  }

  async #claim(schedule: string, tick: Instant): Promise<boolean> {
    const { catalog } = this.#deps;
    if (this.#claimed.get(schedule) === tick) return false;
    if (!(await catalog.ticks.claim(schedule, tick))) return false;
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
