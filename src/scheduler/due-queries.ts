/**
 * Queries with a schedule of their own: which tick of which is due. A tick is claimed in the same step that puts its run into
 * the queue, so none is lost and none is run twice; of several missed, only the last is run. Ticks from before a query was last
 * changed are not its own.
 */
import type { Catalog } from '../catalog/catalog.ts';
import { type Cron, lastTick, parseCron } from '../domain/cron.ts';
import { CLOCKS_APART_MILLIS, type Clock, type Instant } from '../domain/instant.ts';
import type { Query } from '../domain/query.ts';

export interface ScheduledQueries {
  /** Those that have a schedule and SQL and are not archived. */
  readonly list: () => Promise<readonly Query[]>;
  /** Claims the tick and asks for a run; nothing when another process was first. Rejects when the query cannot be run. */
  readonly submit: (query: Query, schedule: string, tick: Instant) => Promise<void>;
}

export interface DueQueriesDeps {
  readonly catalog: Pick<Catalog, 'ticks'>;
  readonly queries: ScheduledQueries;
  readonly clock: Clock;
}

export interface DueQuery {
  readonly query: Query;
  readonly tick: Instant;
}

export class DueQueries {
  readonly #deps: DueQueriesDeps;
  /** By expression: reading one takes longer than to look one up. */
  readonly #read = new Map<string, Cron>();
  #crons: readonly Cron[] = [];

  constructor(deps: DueQueriesDeps) {
    this.#deps = deps;
  }

  /** The schedules of those that were listed last. */
  get crons(): readonly Cron[] {
    return this.#crons;
  }

  async listDue(): Promise<readonly DueQuery[]> {
    const { catalog, clock, queries } = this.#deps;
    const scheduled = (await queries.list()).map((query) => ({ query, cron: this.#cronOf(query) }));
    this.#crons = [...new Set(scheduled.map(({ cron }) => cron))];
    const due: DueQuery[] = [];
    for (const { query, cron } of scheduled) {
      const tick = lastTick(cron, clock());
      if (tick < query.updatedAt) continue;
      const last = await catalog.ticks.findLast(scheduleOf(query));
      const isBelieved = last !== undefined && last <= clock() + CLOCKS_APART_MILLIS;
      if (!isBelieved || last < tick) due.push({ query, tick });
    }
    return due;
  }

  /** A query that cannot be run is told once for each tick, and not at every look. */
  async submit(query: Query, tick: Instant): Promise<void> {
    const { catalog, clock, queries } = this.#deps;
    try {
      await queries.submit(query, scheduleOf(query), tick);
    } catch (error) {
      await catalog.ticks.claim(scheduleOf(query), tick, clock());
      throw error;
    }
  }

  #cronOf({ schedule = '' }: Query): Cron {
    const known = this.#read.get(schedule);
    if (known !== undefined) return known;
    const cron = parseCron(schedule);
    this.#read.set(schedule, cron);
    return cron;
  }
}

function scheduleOf({ id }: Query): string {
  return `query:${id}`;
}
