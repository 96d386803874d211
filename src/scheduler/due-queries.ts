/**
 * Queries with a schedule of their own, the curated datasets among them: which tick of which is due. A tick is claimed in the same
 * step that puts its run into the queue, so none is lost and none is run twice; of several missed, only the last is run. While the run
 * of an earlier one goes on, a tick waits. One that a wrong clock has claimed far ahead of time is as if nobody had.
 */
import { type Catalog, CatalogConflict } from '../catalog/catalog.ts';
import { type Cron, lastTick, nextTick, parseCron } from '../domain/cron.ts';
import { CLOCKS_APART_MILLIS, type Clock, type Instant } from '../domain/instant.ts';
import { type Query, scheduleName } from '../domain/query.ts';
import { letOthersRun } from '../domain/time.ts';
import { RequestError } from '../errors/errors.ts';

export interface ScheduledQuery {
  readonly query: Query;
  /** Ticks before this moment do not count. */
  readonly since: Instant;
  /** Whether any of its source tables exist; asked when a tick is due. */
  readonly isSetUp: (signal: AbortSignal) => Promise<boolean>;
}

export interface ScheduledQueries {
  /** Queries that have a schedule and SQL and are not archived. */
  readonly list: () => Promise<readonly ScheduledQuery[]>;
  /**
   * Claims the tick and submits a run. Rejects when the query cannot be run.
   * @returns whether the tick was claimed; false when another process was first, or when there is no place for the run yet
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

/** After so many queries other work gets its turn. A query takes 50 µs, or most of a millisecond if its ticks are years apart. */
const LOOKS_PER_TURN = 20;

export class DueQueries {
  readonly #deps: DueQueriesDeps;
  /** By expression, since parsing one takes longer than looking it up. */
  readonly #read = new Map<string, Cron>();
  /**
   * The last tick of each query that this process claimed. Where clocks disagree, another process may take that claim for a
   * wrong one.
   */
  readonly #claimed = new Map<number, Instant>();
  #nextTick = Number.POSITIVE_INFINITY;

  constructor(deps: DueQueriesDeps) {
    this.#deps = deps;
  }

  /** The next tick of all queries, as of the last look. */
  get nextTick(): Instant {
    return this.#nextTick;
  }

  /** The due queries, one after the other, as they are found. */
  async *listDue(signal: AbortSignal): AsyncGenerator<DueQuery> {
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
      if (await this.#isDue(scheduled, tick, signal)) yield { query: scheduled.query, tick };
    }
  }

  /** A query that cannot be run is reported once for each tick, not at every look. After any other failure the tick can still be claimed. */
  async submit({ query, tick }: DueQuery): Promise<void> {
    const { catalog, queries } = this.#deps;
    try {
      if (!(await queries.submit(query, tick))) return;
    } catch (error) {
      if (cannotBeRun(error)) await catalog.ticks.claim(scheduleName(query), tick);
      throw error;
    }
    this.#claimed.set(query.id, tick);
  }

  async #isDue({ query, since, isSetUp }: ScheduledQuery, tick: Instant, signal: AbortSignal): Promise<boolean> {
    const { catalog, clock } = this.#deps;
    if (tick < since || this.#claimed.get(query.id) === tick) return false;
    const last = await catalog.ticks.findLast(scheduleName(query));
    const isBelieved = last !== undefined && last <= clock() + CLOCKS_APART_MILLIS;
    return (!isBelieved || last < tick) && (await isSetUp(signal));
  }

  #cronOf({ schedule = '' }: Query): Cron {
    const known = this.#read.get(schedule);
    if (known !== undefined) return known;
    const cron = parseCron(schedule);
    this.#read.set(schedule, cron);
    return cron;
  }
}

/** Now and at the next look, too: its SQL or its parameters are wrong, or it is archived. */
function cannotBeRun(error: unknown): boolean {
  return error instanceof RequestError || error instanceof CatalogConflict;
}
