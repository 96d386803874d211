/** Queries as named things with an owner; their texts live elsewhere. */
import type { Kysely } from 'kysely';
import type { Instant } from '../../domain/instant.ts';
import type { Query } from '../../domain/principal.ts';
import { CatalogConflict, type Queries } from '../catalog.ts';
import { requireOwner } from './principals.ts';
import { type CatalogTables, ownerColumns, ownerOf, type QueryRow } from './tables.ts';

export class KyselyQueries implements Queries {
  readonly #db: Kysely<CatalogTables>;

  constructor(db: Kysely<CatalogTables>) {
    this.#db = db;
  }

  async add(query: Query, at: Instant): Promise<void> {
    await this.#db.transaction().execute(async (trx) => {
      await requireOwner(trx, query.owner);
      const added = await trx
        .insertInto('queries')
        .values({
          id: query.id,
          name: query.name ?? null,
          ...ownerColumns(query.owner),
          visibility: query.visibility,
          created_at: at,
        })
        .onConflict((conflict) => conflict.doNothing())
        .returning('id')
        .executeTakeFirst();
      if (added === undefined) throw new CatalogConflict(`there is a query ${query.id} already`);
    });
  }

  async find(id: number): Promise<Query | undefined> {
    const row = await this.#db.selectFrom('queries').selectAll().where('id', '=', id).executeTakeFirst();
    return row === undefined ? undefined : queryOf(row);
  }

  async list(): Promise<readonly Query[]> {
    const rows = await this.#db.selectFrom('queries').selectAll().orderBy('id').execute();
    return rows.map(queryOf);
  }
}

function queryOf(row: QueryRow): Query {
  return {
    id: row.id,
    ...(row.name !== null && { name: row.name }),
    owner: ownerOf(row),
    visibility: row.visibility,
  };
}
