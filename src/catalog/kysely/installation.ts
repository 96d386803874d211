/** What the catalog knows of the whole installation: one row, made when it is first needed. */
import type { Kysely, Transaction } from 'kysely';
import type { ClockRecord } from '../../domain/clock-record.ts';
import type { Installation } from '../catalog.ts';
import type { CatalogTables } from './tables.ts';

export class KyselyInstallation implements Installation {
  readonly #db: Kysely<CatalogTables>;

  constructor(db: Kysely<CatalogTables>) {
    this.#db = db;
  }

  async findId(): Promise<string | undefined> {
    return (await this.#find(this.#db))?.identity ?? undefined;
  }

  async initializeId(id: string): Promise<string> {
    return await this.#db.transaction().execute(async (trx) => {
      const kept = (await this.#find(trx))?.identity;
      if (kept !== null && kept !== undefined) return kept;
      await this.#save(trx, { identity: id });
      return id;
    });
  }

  async setId(id: string): Promise<void> {
    await this.#db.transaction().execute(async (trx) => await this.#save(trx, { identity: id }));
  }

  async findClock(): Promise<ClockRecord | undefined> {
    return clockOf((await this.#find(this.#db))?.clock);
  }

  async updateClock(update: (before: ClockRecord | undefined) => ClockRecord): Promise<ClockRecord> {
    return await this.#db.transaction().execute(async (trx) => {
      const clock = update(clockOf((await this.#find(trx))?.clock));
      await this.#save(trx, { clock: JSON.stringify(clock) });
      return clock;
    });
  }

  async #find(db: Kysely<CatalogTables>) {
    return await db.selectFrom('installation').selectAll().executeTakeFirst();
  }

  async #save(trx: Transaction<CatalogTables>, what: { identity: string } | { clock: string }): Promise<void> {
    await trx
      .insertInto('installation')
      .values({ id: 1, identity: null, clock: null, ...what })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(what))
      .execute();
  }
}

function clockOf(text: string | null | undefined): ClockRecord | undefined {
  return text === null || text === undefined ? undefined : (JSON.parse(text) as ClockRecord);
}
