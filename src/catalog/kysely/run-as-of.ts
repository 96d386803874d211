/**
 * The run that was the latest of a query at an earlier time, among those whose results are still stored. It walks the results of the query
 * from the newest on, in the order of `findLatest`, up to the first that had ended by then.
 */
import type { Kysely } from 'kysely';
import type { AsOfSearch, ListPage } from '../../domain/browsing.ts';
import type { Execution } from '../../domain/execution.ts';
import { hasParameters } from './run-parameters.ts';
import { type CatalogTables, executionOf } from './tables.ts';

export async function findLatestAsOf(
  db: Kysely<CatalogTables>,
  search: AsOfSearch,
  except: readonly string[],
): Promise<Execution | undefined> {
  const row = await storedRuns(db, search)
    .selectAll('executions')
    .where('executions.ended_at', '<=', search.asOf)
    .$if(except.length > 0, (runs) => runs.where('result_sets.execution_id', 'not in', except))
    .orderBy('result_sets.ordered_at', 'desc')
    .orderBy('result_sets.execution_id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? undefined : executionOf(row);
}

export async function listOldestStored(
  db: Kysely<CatalogTables>,
  search: Omit<AsOfSearch, 'asOf'>,
  limit: number,
): Promise<ListPage<Execution>> {
  const runs = storedRuns(db, search);
  const counted = await runs.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  const rows = await runs
    .selectAll('executions')
    .orderBy('result_sets.ordered_at')
    .orderBy('result_sets.execution_id')
    .limit(limit)
    .execute();
  return { items: rows.map(executionOf), total: Number(counted.count) };
}

/** The runs with these values that have a stored result not expired at `now`. */
function storedRuns(db: Kysely<CatalogTables>, { queryId, parameters, now }: Omit<AsOfSearch, 'asOf'>) {
  const values = Object.entries(parameters);
  return db
    .selectFrom('result_sets')
    .innerJoin('executions', 'executions.id', 'result_sets.execution_id')
    .where('result_sets.query_id', '=', queryId)
    .where('result_sets.expires_at', '>', now)
    .$if(values.length > 0, (runs) => runs.where(hasParameters(db, 'executions.id', values)));
}
