/**
 * The latest run of a query (contract §2): the newest that has a stored, unexpired result; when there is none, the newest,
 * whatever its state. Each is a walk down one index that ends at its first match (sqlite-catalog.test.ts holds the plans).
 */
import type { Kysely } from 'kysely';
import type { Execution } from '../../domain/execution.ts';
import type { Instant } from '../../domain/instant.ts';
import { hasParameters } from './run-parameters.ts';
import { type CatalogTables, executionOf } from './tables.ts';

type Parameters = Readonly<Record<string, string>>;

export async function findLatest(
  db: Kysely<CatalogTables>,
  queryId: number,
  parameters: Parameters,
  now: Instant,
  except: readonly string[],
): Promise<Execution | undefined> {
  const [first, ...others] = Object.entries(parameters);
  const row =
    first === undefined
      ? ((await newestStored(db, queryId, now, except)) ?? (await newest(db, queryId, except)))
      : await newestWith(db, queryId, [first, ...others], now, except);
  return row === undefined ? undefined : executionOf(row);
}

async function newestStored(db: Kysely<CatalogTables>, queryId: number, now: Instant, except: readonly string[]) {
  return await db
    .selectFrom('result_sets')
    .innerJoin('executions', 'executions.id', 'result_sets.execution_id')
    .selectAll('executions')
    .where('result_sets.query_id', '=', queryId)
    .where('result_sets.expires_at', '>', now)
    .$if(except.length > 0, (runs) => runs.where('result_sets.execution_id', 'not in', except))
    .orderBy('result_sets.ordered_at', 'desc')
    .orderBy('result_sets.execution_id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

async function newest(db: Kysely<CatalogTables>, queryId: number, except: readonly string[]) {
  return await db
    .selectFrom('executions')
    .selectAll()
    .where('query_id', '=', queryId)
    .$if(except.length > 0, (runs) => runs.where('id', 'not in', except))
    .orderBy('ordered_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** The runs with one of the values, newest first; each is then checked for the other values. */
async function newestWith(
  db: Kysely<CatalogTables>,
  queryId: number,
  [[name, value], ...others]: readonly [readonly [string, string], ...(readonly [string, string])[]],
  now: Instant,
  except: readonly string[],
) {
  const runs = db
    .selectFrom('execution_parameters as chosen')
    .innerJoin('executions', 'executions.id', 'chosen.execution_id')
    .selectAll('executions')
    .where('chosen.query_id', '=', queryId)
    .where('chosen.name', '=', name)
    .where('chosen.value', '=', value)
    .$if(except.length > 0, (chosen) => chosen.where('chosen.execution_id', 'not in', except))
    .$if(others.length > 0, (chosen) => chosen.where(hasParameters(db, 'chosen.execution_id', others)))
    .orderBy('chosen.ordered_at', 'desc')
    .orderBy('chosen.execution_id', 'desc')
    .limit(1);
  const stored = await runs
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('result_sets')
          .select('result_sets.execution_id')
          .whereRef('result_sets.execution_id', '=', 'chosen.execution_id')
          .where('result_sets.expires_at', '>', now),
      ),
    )
    .executeTakeFirst();
  return stored ?? (await runs.executeTakeFirst());
}
