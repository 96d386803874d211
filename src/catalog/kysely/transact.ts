/** A transaction of its own, or the one that is going on already: a step of the catalog may be a part of a greater one (`atomically`). */
import type { Kysely, Transaction } from 'kysely';
import type { CatalogTables } from './tables.ts';

export async function transact<T>(
  db: Kysely<CatalogTables>,
  work: (trx: Transaction<CatalogTables>) => Promise<T>,
): Promise<T> {
  return db.isTransaction ? await work(db as Transaction<CatalogTables>) : await db.transaction().execute(work);
}
