/** The last claimed tick of every schedule: one upsert decides who runs it, with no leader among the processes. */
import type { Kysely } from 'kysely';
import { CLOCKS_APART_MILLIS, type Instant } from '../../domain/instant.ts';
import type { Ticks } from '../catalog.ts';
import { after, type Now, readNow } from './now.ts';
import type { CatalogTables } from './tables.ts';

export class KyselyTicks implements Ticks {
  readonly #db: Kysely<CatalogTables>;
  readonly #now: Now;

  constructor(db: Kysely<CatalogTables>, now: Now) {
    this.#db = db;
    this.#now = now;
  }

  async claim(schedule: string, tick: Instant): Promise<boolean> {
    return await claimTick(this.#db, schedule, tick, this.#now);
  }

  async findLast(schedule: string): Promise<Instant | undefined> {
    const row = await this.#db.selectFrom('ticks').select('tick').where('schedule', '=', schedule).executeTakeFirst();
    return row?.tick;
  }
}

/**
 * True for exactly one of all processes that claim the tick. One that is far ahead of the catalog's clock is claimed by nobody: it would take
 * the place of the last one that was run, which could then be run again.
 */
export async function claimTick(
  db: Kysely<CatalogTables>,
  schedule: string,
  tick: Instant,
  now: Now,
): Promise<boolean> {
  if (tick > (await readNow(db, now)) + CLOCKS_APART_MILLIS) return false;
  const claimed = await db
    .insertInto('ticks')
    .values({ schedule, tick })
    .onConflict((conflict) =>
      conflict
        .column('schedule')
        .doUpdateSet({ tick })
        .where((eb) => eb.or([eb('ticks.tick', '<', tick), eb('ticks.tick', '>', after(now(), CLOCKS_APART_MILLIS))])),
    )
    .returning('tick')
    .executeTakeFirst();
  return claimed !== undefined;
}
