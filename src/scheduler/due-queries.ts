/**
 * Queries with a schedule of their own, the curated datasets among them: which tick of which is due. A tick is claimed in the same
 * step that puts its run into the queue, so none is lost and none is run twice; of several missed, only the last is run. While the run
 * of an earlier one goes on, a tick waits. One that a wrong clock has claimed far ahead of time is as if nobody had.
 */
import type { Catalog } from '../catalog/catalog.ts';
import { type Cron, lastTick, nextTick, parseCron } from '../domain/cron.ts';
import { CLOCKS_APART_MILLIS, type Clock, type Instant } from '../domain/instant.ts';
import { type Query, scheduleName } from '../domain/query.ts';
import { letOthersRun } from '../domain/time.ts';

export interface ScheduledQuery {
  readonly query: Query;
  /** Ticks from before are not its own. */
  readonly since: Instant;
  /** Whether there is anything yet that it could be made of; asked when it is due. */
  readonly isSetUp: () => Promise<boolean>;
}

export interface ScheduledQueries {
  /** Those that have a schedule and SQL and are not archived. */
  readonly list: () => Promise<readonly ScheduledQuery[]>;
  /**
   * Claims the tick and asks for a run. Rejects when the query cannot be run.
   * @returns whether the tick was claimed: not when another process was first, or there is no place for the run yet
   */
  readonly submit: (query: Query, tick: Instant) => Promise<boolean>;
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

/** After so many looks at a query others have their turn. One takes 50 µs, or most of a millisecond for ticks that are years apart. */
const LOOKS_PER_TURN = 20;

export class DueQueries {
  readonly #deps: DueQueriesDeps;
  /** By expression: reading one takes longer than to look one up. */
  readonly #read = new Map<string, Cron>();
  /** The last tick of each that this process claimed: where clocks disagree another may take a claim for a wrong one. */
  readonly #claimed = new Map<number, Instant>();
  #nextTick = Number.POSITIVE_INFINITY;

  constructor(deps: DueQueriesDeps) {
    this.#deps = deps;
  }

  /** The next tick, as of the last look, of those that were listed then. */
  get nextTick(): Instant {
    return this.#nextTick;
  }

  /** What is due; one after the other, as it is found. */
  async *listDue(): AsyncGenerator<DueQuery> {
    const { clock, queries } = this.#deps;
    const now = clock();
    this.#nextTick = Number.POSITIVE_INFINITY;
    let looks = 0;
    for (const scheduled of await queries.list()) {
      looks += 1;
      if (looks % LOOKS_PER_TURN === 0) await letOthersRun();
      const cron = this.#cronOf(scheduled.query);
      this.#nextTick = Math.min(this.#nextTick, nextTick(cron, now));
      const tick = lastTick(cron, now);
      if (await this.#isDue(scheduled, tick)) yield { query: scheduled.query, tick };
    }
  }

  /** A query that cannot be run is told once for each tick, and not at every look. */
  async submit({ query, tick }: DueQuery): Promise<void> {
    const { catalog, clock, queries } = this.#deps;
    try {
      if (!(await queries.submit(query, tick))) return;
    } catch (error) {
      await catalog.ticks.claim(scheduleName(query), tick, clock());
      throw error;
    }
    this.#claimed.set(query.id, tick);
  }

  async #isDue({ query, since, isSetUp }: ScheduledQuery, tick: Instant): Promise<boolean> {
    const { catalog, clock } = this.#deps;
    if (tick < since || this.#claimed.get(query.id) === tick) return false;
    const last = await catalog.ticks.findLast(scheduleName(query));
    const isBelieved = last !== undefined && last <= clock() + CLOCKS_APART_MILLIS;
    return (!isBelieved || last < tick) && (await isSetUp());
  }

  #cronOf({ schedule = '' }: Query): Cron {
    const known = this.#read.get(schedule);
    if (known !== undefined) return known;
    const cron = parseCron(schedule);
    this.#read.set(schedule, cron);
    return cron;
  }
}
