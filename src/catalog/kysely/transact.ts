/** Runs in the transaction that is open already (`atomically`), or else in one of its own. */
import type { Kysely, Transaction } from 'kysely';
import type { CatalogTables } from './tables.ts';

export async function transact<T>(
  db: Kysely<CatalogTables>,
  work: (trx: Transaction<CatalogTables>) => Promise<T>,
): Promise<T> {
  return db.isTransaction ? await work(db as Transaction<CatalogTables>) : await db.transaction().execute(work);
}
