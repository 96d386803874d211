/** Usage by key, query and day: counters that only grow. */
import { type Expression, type Kysely, type SelectQueryBuilder, sql, type Transaction } from 'kysely';
import type { UsageBatch, UsageFilter, UsagePart, UsageSum, Use } from '../../domain/usage.ts';
import type { Usage } from '../catalog.ts';
import type { Now } from './now.ts';
import type { CatalogTables, KeyRow, UsageRow } from './tables.ts';

/** Stands for the query id of requests that concern no query. */
const NO_QUERY = 0;
/** Rows per statement, since databases limit the number of parameters. */
const ROWS_AT_ONCE = 500;

/** Stands where other requests that may come twice have the id of an API key, which is never so short. */
const BATCHES = 'usage';

const COLUMNS = {
  day: 'usage.day',
  key: 'usage.key_id',
  user: 'api_keys.user_name',
  team: 'api_keys.team_name',
  query: 'usage.query_id',
} as const satisfies Readonly<Record<UsagePart, string>>;

type SumRow = UsageRow & Pick<KeyRow, 'user_name' | 'team_name'>;

export class KyselyUsage implements Usage {
  readonly #db: Kysely<CatalogTables>;
  readonly #now: Now;
  readonly #lists: Kysely<CatalogTables>;

  /** @param lists where many rows are looked at */
  constructor(db: Kysely<CatalogTables>, now: Now, lists: Kysely<CatalogTables> = db) {
    this.#db = db;
    this.#now = now;
    this.#lists = lists;
  }

  async add(uses: readonly Use[], batch?: UsageBatch): Promise<void> {
    if (uses.length === 0) return;
    const rows = uses.map(({ keyId, queryId, ...counted }) => ({
      ...counted,
      key_id: keyId,
      query_id: queryId ?? NO_QUERY,
    }));
    await this.#db.transaction().execute(async (trx) => {
      if (batch !== undefined && !(await isNew(trx, batch, this.#now()))) return;
      for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
        await trx
          .insertInto('usage')
          .values(rows.slice(start, start + ROWS_AT_ONCE))
          .onConflict((conflict) =>
            conflict.columns(['day', 'key_id', 'query_id']).doUpdateSet((set) => ({
              requests: set('usage.requests', '+', set.ref('excluded.requests')),
              datapoints: set('usage.datapoints', '+', set.ref('excluded.datapoints')),
              bytes: set('usage.bytes', '+', set.ref('excluded.bytes')),
            })),
          )
          .execute();
      }
    });
  }

  async sum(filter: UsageFilter, by: readonly UsagePart[]): Promise<readonly UsageSum[]> {
    const parts = [...new Set(by)];
    let query = this.#lists
      .selectFrom('usage')
      .innerJoin('api_keys', 'api_keys.id', 'usage.key_id')
      .select(({ fn }) => [
        fn.sum<number>('usage.requests').as('requests'),
        fn.sum<number>('usage.datapoints').as('datapoints'),
        fn.sum<number>('usage.bytes').as('bytes'),
      ])
      .$castTo<Partial<SumRow>>();
    query = filtered(query, filter);
    for (const part of parts) {
      query = query.select(COLUMNS[part]).groupBy(COLUMNS[part]).orderBy(COLUMNS[part]).$castTo<Partial<SumRow>>();
      if (part === 'user' || part === 'team') query = query.where(COLUMNS[part], 'is not', null);
    }
    // The sum of no rows is one row of nulls. It is not usage.
    const rows = await query.having(sql<number>`count(*)`, '>', 0).execute();
    return rows.map((row) => sumOf(row, parts));
  }
}

/**
 * True once for each batch. A writer's last batch is kept as what it is, a request that may come twice: the sweep forgets it after a day
 * without another, by the same clock.
 */
async function isNew(
  trx: Transaction<CatalogTables>,
  { writer, number }: UsageBatch,
  now: Expression<number>,
): Promise<boolean> {
  const last = { fingerprint: String(number), status: 200, body: '', answered_at: now };
  const taken = await trx
    .insertInto('idempotency_keys')
    .values({ key_id: BATCHES, name: writer, ...last })
    .onConflict((conflict) =>
      conflict
        .columns(['key_id', 'name'])
        .doUpdateSet(last)
        .where('idempotency_keys.fingerprint', '<>', last.fingerprint),
    )
    .returning('name')
    .executeTakeFirst();
  return taken !== undefined;
}

type Summing = SelectQueryBuilder<CatalogTables, 'usage' | 'api_keys', Partial<SumRow>>;

function filtered(query: Summing, { from, to, keyId, owner, queryId }: UsageFilter): Summing {
  let result = query;
  if (from !== undefined) result = result.where('usage.day', '>=', from);
  if (to !== undefined) result = result.where('usage.day', '<=', to);
  if (keyId !== undefined) result = result.where('usage.key_id', '=', keyId);
  if (queryId !== undefined) result = result.where('usage.query_id', '=', queryId);
  if (owner !== undefined) result = result.where(COLUMNS[owner.kind], '=', owner.name);
  return result;
}

function sumOf(row: Partial<SumRow>, parts: readonly UsagePart[]): UsageSum {
  const { day, key_id, user_name, team_name, query_id, requests = 0, datapoints = 0, bytes = 0 } = row;
  const has = (part: UsagePart) => parts.includes(part);
  return {
    ...(has('day') && day !== undefined && { day }),
    ...(has('key') && key_id !== undefined && { keyId: key_id }),
    ...(has('user') && user_name != null && { user: user_name }),
    ...(has('team') && team_name != null && { team: team_name }),
    ...(has('query') && query_id !== undefined && query_id !== NO_QUERY && { queryId: query_id }),
    requests,
    datapoints,
    bytes,
  };
}
