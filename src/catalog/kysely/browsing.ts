/**
 * Searches, counts and pages lists in the database, so that no more is read than is shown. What looks at many rows goes to `lists`, which
 * may be slow: the event loop does not wait for it.
 */
import { type Expression, type ExpressionBuilder, type Kysely, type SqlBool, sql } from 'kysely';
import {
  type AsOfSearch,
  type FoundQuery,
  type ListPage,
  type QuerySearch,
  type RunFilter,
  type RunSummary,
  searchWords,
} from '../../domain/browsing.ts';
import { EXECUTION_STATES, type Execution, type ExecutionState, STATES } from '../../domain/execution.ts';
import type { Instant } from '../../domain/instant.ts';
import { UNLISTED_TAG } from '../../domain/query.ts';
import type { Browsing } from '../browsing.ts';
import { findLatest } from './latest-execution.ts';
import { queryOf } from './queries.ts';
import { findLatestAsOf, listOldestStored } from './run-as-of.ts';
import { type CatalogTables, executionOf } from './tables.ts';

type Queries = ExpressionBuilder<CatalogTables, 'queries'>;
type Runs = ExpressionBuilder<CatalogTables, 'executions'>;

const WITH_RESULT = EXECUTION_STATES.filter((state) => STATES[state].hasResult);

export class KyselyBrowsing implements Browsing {
  readonly #db: Kysely<CatalogTables>;
  readonly #lists: Kysely<CatalogTables>;

  constructor(db: Kysely<CatalogTables>, lists: Kysely<CatalogTables> = db) {
    this.#db = db;
    this.#lists = lists;
  }

  async searchQueries(search: QuerySearch): Promise<ListPage<FoundQuery>> {
    const words = searchWords(search.text ?? '');
    const matching = this.#lists.selectFrom('queries').where((eb) => eb.and(conditionsOf(eb, search, words)));
    const counted = await matching.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
    const rows = await matching
      .selectAll()
      .$if(words.length > 0, (found) =>
        found.orderBy((eb) => eb.or(words.map((word) => eb.not(contains('name', word))))),
      )
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(search.limit)
      .offset(search.offset)
      .execute();
    const items: FoundQuery[] = [];
    for (const row of rows) {
      const latest = await this.findLatestRun(row.id, search.now);
      items.push({ query: queryOf(row), ...(latest !== undefined && { latest }) });
    }
    return { items, total: Number(counted.count) };
  }

  async findLatestRun(queryId: number, now: Instant): Promise<RunSummary | undefined> {
    const execution = await findLatest(this.#db, queryId, {}, now, []);
    return execution === undefined ? undefined : await this.#summaryOf(execution);
  }

  async findLatestAsOf(search: AsOfSearch, except: readonly string[] = []): Promise<Execution | undefined> {
    return await findLatestAsOf(this.#lists, search, except);
  }

  async listOldestStored(search: Omit<AsOfSearch, 'asOf'>, limit: number): Promise<ListPage<Execution>> {
    return await listOldestStored(this.#lists, search, limit);
  }

  async listRuns(filter: RunFilter): Promise<ListPage<RunSummary>> {
    const { queryId, state, now, from, to, limit, offset } = filter;
    const matching = this.#lists
      .selectFrom('executions')
      .where('query_id', '=', queryId)
      .$if(state !== undefined, (runs) => runs.where((eb) => inState(eb, state as ExecutionState, now)))
      .$if(from !== undefined, (runs) => runs.where('submitted_at', '>=', from as Instant))
      .$if(to !== undefined, (runs) => runs.where('submitted_at', '<', to as Instant));
    const counted = await matching.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
    const newestFirst = matching.selectAll().orderBy('ordered_at', 'desc').orderBy('id', 'desc');
    const rows = await newestFirst.limit(limit).offset(offset).execute();
    const items: RunSummary[] = [];
    for (const row of rows) items.push(await this.#summaryOf(executionOf(row)));
    return { items, total: Number(counted.count) };
  }

  /** Only two numbers of the manifest are read, since it can be long: half a megabyte for thousands of columns. */
  async #summaryOf(execution: Execution): Promise<RunSummary> {
    if (!STATES[execution.state].hasResult) return { execution };
    const stored = await this.#lists
      .selectFrom('result_sets')
      .select([
        sql<number>`json_extract(manifest, '$.rowCount')`.as('rowCount'),
        sql<number>`json_extract(manifest, '$.cellBytes')`.as('cellBytes'),
      ])
      .where('execution_id', '=', execution.id)
      .executeTakeFirst();
    return { execution, ...stored };
  }
}

function conditionsOf(eb: Queries, search: QuerySearch, words: readonly string[]): Expression<SqlBool>[] {
  const { reader, owner, tag, hasResults, now } = search;
  const hasTag = (name: string) => sql<SqlBool>`exists (select 1 from json_each(queries.tags) where value = ${name})`;
  const stored = eb.exists(
    eb
      .selectFrom('result_sets')
      .select('execution_id')
      .whereRef('result_sets.query_id', '=', 'queries.id')
      .where('result_sets.expires_at', '>', now),
  );
  return [
    ...(reader.scope === 'admin' ? [] : [readableBy(eb, reader)]),
    ...(owner === undefined ? [] : [eb.or([eb('user_name', '=', owner), eb('team_name', '=', owner)])]),
    ...(tag === undefined ? [] : [hasTag(tag)]),
    ...(tag === UNLISTED_TAG ? [] : [eb.not(hasTag(UNLISTED_TAG))]),
    ...(hasResults === undefined ? [] : [hasResults ? stored : eb.not(stored)]),
    ...words.map((word) =>
      eb.or([contains('name', word), contains('description', word), tagContains(word), contains('id', word)]),
    ),
  ];
}

/** The rule of `mayRead`, in SQL. */
function readableBy(eb: Queries, { owner, teams }: QuerySearch['reader']): Expression<SqlBool> {
  return eb.or([
    eb('visibility', '=', 'public'),
    ...(owner.kind === 'user' ? [eb('user_name', '=', owner.name)] : []),
    ...(teams.length > 0 ? [eb('team_name', 'in', teams)] : []),
  ]);
}

function contains(column: 'name' | 'description' | 'id', word: string): Expression<SqlBool> {
  return sql<SqlBool>`instr(lower(coalesce(cast(${sql.ref(column)} as text), '')), ${word}) > 0`;
}

/** Tag by tag: the column is JSON, which has marks of its own. PostgreSQL lowers a tag by the rules of the database, so the word, too. */
function tagContains(word: string): Expression<SqlBool> {
  return sql<SqlBool>`exists (select 1 from json_each(queries.tags) where instr(lower(value), lower(${word})) > 0)`;
}

/** The rule of `stateAt`, in SQL. */
function inState(eb: Runs, state: ExecutionState, now: Instant): Expression<SqlBool> {
  const stored = eb('state', 'in', WITH_RESULT);
  if (state === 'EXPIRED') return eb.or([eb('state', '=', state), eb.and([stored, eb('expires_at', '<=', now)])]);
  const here = eb('state', '=', state);
  return STATES[state].hasResult ? eb.and([here, eb('expires_at', '>', now)]) : here;
}
