/** Answers given under idempotency keys, kept to be given again: one row each, deleted by age. */
import type { Kysely } from 'kysely';
import type { Instant } from '../../domain/instant.ts';
import type { KeptAnswer, NewKeptAnswer } from '../../domain/kept-answer.ts';
import type { IdempotencyKeys, Lease } from '../catalog.ts';
import { spendLease } from './leases.ts';
import type { Now } from './now.ts';
import type { CatalogTables } from './tables.ts';
import { transact } from './transact.ts';

export class KyselyIdempotencyKeys implements IdempotencyKeys {
  readonly #db: Kysely<CatalogTables>;
  readonly #now: Now;

  constructor(db: Kysely<CatalogTables>, now: Now) {
    this.#db = db;
    this.#now = now;
  }

  async find(keyId: string, name: string, after: Instant): Promise<KeptAnswer | undefined> {
    const row = await this.#db
      .selectFrom('idempotency_keys')
      .selectAll()
      .where('key_id', '=', keyId)
      .where('name', '=', name)
      .where('answered_at', '>', after)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const { fingerprint, status, body, answered_at } = row;
    return { keyId, name, fingerprint, status, body, answeredAt: answered_at };
  }

  async keep({ keyId, ...answer }: NewKeptAnswer, lease: Lease): Promise<void> {
    await transact(this.#db, async (trx) => {
      await spendLease(trx, lease);
      const row = { ...answer, key_id: keyId, answered_at: this.#now() };
      await trx
        .insertInto('idempotency_keys')
        .values(row)
        .onConflict((conflict) => conflict.columns(['key_id', 'name']).doUpdateSet(row))
        .execute();
    });
  }

  async deleteUntil(instant: Instant): Promise<void> {
    await this.#db.deleteFrom('idempotency_keys').where('answered_at', '<=', instant).execute();
  }
}
