/** Which replicas run: a row for each. Whoever writes its own deletes those of replicas that died long ago. */
import { type Kysely, type SqlBool, sql } from 'kysely';
import { CLOCKS_APART_MILLIS, DAY_MILLIS } from '../../domain/instant.ts';
import type { Replica, Replicas, SeenReplica } from '../catalog.ts';
import { after, type Now } from './now.ts';
import type { CatalogTables } from './tables.ts';
import { transact } from './transact.ts';

export class KyselyReplicas implements Replicas {
  readonly #db: Kysely<CatalogTables>;
  readonly #now: Now;
  readonly #knows: number;

  /** @param knows the latest version of a catalog that this program knows */
  constructor(db: Kysely<CatalogTables>, now: Now, knows: number) {
    this.#db = db;
    this.#now = now;
    this.#knows = knows;
  }

  async beat({ id, name, version }: Replica): Promise<void> {
    const now = this.#now();
    await transact(this.#db, async (trx) => {
      await trx
        .insertInto('replicas')
        .values({ id, name, version, knows: this.#knows, since: now, last_seen: now })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ last_seen: now }))
        .execute();
      await trx.deleteFrom('replicas').where('last_seen', '<=', after(now, -DAY_MILLIS)).execute();
    });
  }

  async remove(id: string): Promise<void> {
    await this.#db.deleteFrom('replicas').where('id', '=', id).execute();
  }

  async list(withinMillis: number): Promise<readonly SeenReplica[]> {
    const now = this.#now();
    const rows = await this.#db
      .selectFrom('replicas')
      .selectAll()
      .where((eb) => sql<SqlBool>`${eb.ref('last_seen')} > ${after(now, -withinMillis)}`)
      // One that lives says so again by the right clock; one that died would count until that has caught up.
      .where((eb) => sql<SqlBool>`${eb.ref('last_seen')} <= ${after(now, CLOCKS_APART_MILLIS)}`)
      .orderBy('since')
      .orderBy('id')
      .execute();
    return rows.map(({ last_seen, ...row }) => ({ ...row, lastSeen: last_seen }));
  }
}
