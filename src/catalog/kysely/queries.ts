/** Queries: their definitions, and the choice of ids for those added without one. */

import { type Kysely, sql, type Transaction } from 'kysely';
import type { ColumnDescriptions } from '../../domain/column-descriptions.ts';
import { counted } from '../../domain/counted.ts';
import { EXECUTION_STATES, STATES } from '../../domain/execution.ts';
import { formatInstant, type Instant } from '../../domain/instant.ts';
import type { NewQuery, Query, QueryChanges, QueryFilter, QueryParameter } from '../../domain/query.ts';
import { CatalogConflict, type Queries } from '../catalog.ts';
import { requireOwner } from './principals.ts';
import { type CatalogTables, ownerColumns, ownerOf, type QueryRow } from './tables.ts';
import { transact } from './transact.ts';

type Columns = Partial<QueryRow>;

const UNFINISHED = EXECUTION_STATES.filter((state) => !STATES[state].terminal);

export class KyselyQueries implements Queries {
  readonly #db: Kysely<CatalogTables>;

  constructor(db: Kysely<CatalogTables>) {
    this.#db = db;
  }

  async add(query: NewQuery, at: Instant): Promise<Query> {
    return await transact(this.#db, async (trx) => await insert(trx, query, at));
  }

  async addWithNextId(query: Omit<NewQuery, 'id'>, at: Instant, below: number): Promise<Query> {
    return await transact(this.#db, async (trx) => {
      const id = await nextId(trx);
      if (id >= below) throw new CatalogConflict(`there is no id left below ${below}`);
      await trx.updateTable('query_ids').set({ last: id }).execute();
      return await insert(trx, { ...query, id }, at);
    });
  }

  async update(id: number, changes: QueryChanges, at: Instant): Promise<Query> {
    return await transact(this.#db, async (trx) => {
      if (changes.owner !== undefined) await requireOwner(trx, changes.owner);
      const before = await trx.selectFrom('queries').selectAll().where('id', '=', id).executeTakeFirst();
      const columns = columnsOf(changes);
      const isScheduledAnew = before !== undefined && scheduleOf({ ...before, ...columns }) !== scheduleOf(before);
      const row = await trx
        .updateTable('queries')
        .set({ ...columns, updated_at: at })
        .set((eb) => ({
          version: eb('version', '+', 1),
          scheduled_at: isScheduledAnew ? at : eb.fn.coalesce('scheduled_at', 'updated_at'),
        }))
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst();
      if (row === undefined) throw new CatalogConflict(`there is no query ${id}`);
      return queryOf(row);
    });
  }

  async remove(id: number): Promise<void> {
    await transact(this.#db, async (trx) => {
      await requireNoResults(trx, id);
      await trx.deleteFrom('execution_parameters').where('query_id', '=', id).execute();
      await trx.deleteFrom('executions').where('query_id', '=', id).execute();
      const removed = await trx.deleteFrom('queries').where('id', '=', id).returning('id').executeTakeFirst();
      if (removed === undefined) throw new CatalogConflict(`there is no query ${id}`);
      await trx
        .insertInto('removed_queries')
        .values({ id })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    });
  }

  async find(id: number): Promise<Query | undefined> {
    const row = await this.#db.selectFrom('queries').selectAll().where('id', '=', id).executeTakeFirst();
    return row === undefined ? undefined : queryOf(row);
  }

  async list({ runsOnSchedule, owner, tag }: QueryFilter = {}): Promise<readonly Query[]> {
    let rows = this.#db.selectFrom('queries').selectAll();
    if (runsOnSchedule) {
      rows = rows.where('schedule', 'is not', null).where('query_sql', 'is not', null).where('is_archived', '=', 0);
    }
    if (owner !== undefined) rows = rows.where(owner.kind === 'user' ? 'user_name' : 'team_name', '=', owner.name);
    // Finds rows that may have the tag; in the text, a tag could also be a part of another.
    if (tag !== undefined) {
      rows = rows.where((eb) =>
        eb(eb.fn<string>('replace', ['tags', eb.val(JSON.stringify(tag)), eb.val('')]), '<>', eb.ref('tags')),
      );
    }
    const found = (await rows.orderBy('id').execute()).map(queryOf);
    return tag === undefined ? found : found.filter(({ tags }) => tags.includes(tag));
  }
}

async function insert(trx: Transaction<CatalogTables>, query: NewQuery, at: Instant): Promise<Query> {
  await requireOwner(trx, query.owner);
  const added = await trx
    .insertInto('queries')
    .values({
      id: query.id,
      name: query.name ?? null,
      ...ownerColumns(query.owner),
      visibility: query.visibility,
      created_at: at,
      description: query.description ?? null,
      tags: JSON.stringify(query.tags ?? []),
      column_descriptions: textOfDescriptions(query.columnDescriptions),
      query_sql: query.sql ?? null,
      parameters: JSON.stringify(query.parameters ?? []),
      schedule: query.schedule ?? null,
      is_archived: query.isArchived === true ? 1 : 0,
      version: 1,
      updated_at: at,
      scheduled_at: at,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
  if (added === undefined) throw new CatalogConflict(`there is a query ${query.id} already`);
  return queryOf(added);
}

/** The smallest id above the last one chosen that no query has or had. */
async function nextId(trx: Transaction<CatalogTables>): Promise<number> {
  const found = await sql<{ id: number }>`
    select min(id) + 1 as id
    from (
      select last as id from query_ids
      union all select id from queries where id > (select last from query_ids)
      union all select id from removed_queries where id > (select last from query_ids)
    ) as before
    where not exists (select 1 from queries where queries.id = before.id + 1)
      and not exists (select 1 from removed_queries where removed_queries.id = before.id + 1)`.execute(trx);
  return Number(found.rows[0]?.id);
}

/** @throws CatalogConflict */
async function requireNoResults(trx: Transaction<CatalogTables>, id: number): Promise<void> {
  const stored = await trx
    .selectFrom('result_sets')
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.max('expires_at').as('until')])
    .where('query_id', '=', id)
    .executeTakeFirstOrThrow();
  if (Number(stored.count) > 0) {
    const kept = `${counted(Number(stored.count), 'stored result')}, kept until ${formatInstant(Number(stored.until))}`;
    throw new CatalogConflict(
      `query ${id} has ${kept}: archive it or make it private, and remove it when they are gone`,
    );
  }
  const unfinished = await trx
    .selectFrom('executions')
    .select(['id', 'state'])
    .where('query_id', '=', id)
    .where('state', 'in', UNFINISHED)
    .executeTakeFirst();
  if (unfinished === undefined) return;
  throw new CatalogConflict(`execution ${unfinished.id} of query ${id} is ${unfinished.state}: cancel it first`);
}

function columnsOf(changes: QueryChanges): Columns {
  return {
    ...(changes.owner !== undefined && ownerColumns(changes.owner)),
    ...('name' in changes && { name: changes.name ?? null }),
    ...('description' in changes && { description: changes.description ?? null }),
    ...(changes.tags !== undefined && { tags: JSON.stringify(changes.tags) }),
    ...('columnDescriptions' in changes && { column_descriptions: textOfDescriptions(changes.columnDescriptions) }),
    ...('sql' in changes && { query_sql: changes.sql ?? null }),
    ...(changes.parameters !== undefined && { parameters: JSON.stringify(changes.parameters) }),
    ...('schedule' in changes && { schedule: changes.schedule ?? null }),
    ...(changes.visibility !== undefined && { visibility: changes.visibility }),
    ...(changes.isArchived !== undefined && { is_archived: changes.isArchived ? 1 : 0 }),
  };
}

/** What the query is run by; undefined while it is not. */
function scheduleOf({ schedule, query_sql, is_archived }: QueryRow): string | undefined {
  return query_sql === null || is_archived === 1 ? undefined : (schedule ?? undefined);
}

function textOfDescriptions(descriptions: ColumnDescriptions | undefined): string | null {
  return descriptions === undefined || Object.keys(descriptions).length === 0 ? null : JSON.stringify(descriptions);
}

export function queryOf(row: QueryRow): Query {
  return {
    id: row.id,
    ...(row.name !== null && { name: row.name }),
    owner: ownerOf(row),
    visibility: row.visibility,
    ...(row.description !== null && { description: row.description }),
    tags: JSON.parse(row.tags) as string[],
    ...(row.column_descriptions !== null && {
      columnDescriptions: JSON.parse(row.column_descriptions) as ColumnDescriptions,
    }),
    ...(row.query_sql !== null && { sql: row.query_sql }),
    parameters: JSON.parse(row.parameters) as QueryParameter[],
    ...(row.schedule !== null && { schedule: row.schedule }),
    isArchived: row.is_archived === 1,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    scheduledAt: row.scheduled_at ?? row.updated_at,
  };
}
