/**
 * The manifests of result sets. A manifest is written in the commit of its execution, read whole, and deleted when the result expires. A
 * run has a stored result if, and only if, it has a row here.
 */
import type { Kysely, Transaction } from 'kysely';
import type { Execution } from '../../domain/execution.ts';
import type { Instant } from '../../domain/instant.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import { type CatalogTables, executionOf } from './tables.ts';

export async function insertResultSet(
  trx: Transaction<CatalogTables>,
  execution: Execution,
  expiresAt: Instant,
  resultSet: ResultSet,
): Promise<void> {
  await trx
    .insertInto('result_sets')
    .values((eb) => ({
      execution_id: execution.id,
      query_id: execution.queryId,
      ordered_at: eb.selectFrom('executions').select('ordered_at').where('id', '=', execution.id),
      expires_at: expiresAt,
      manifest: JSON.stringify(resultSet),
    }))
    .execute();
}

export async function deleteResultSet(trx: Transaction<CatalogTables>, executionId: string): Promise<void> {
  await trx.deleteFrom('result_sets').where('execution_id', '=', executionId).execute();
}

export async function findResultSet(db: Kysely<CatalogTables>, executionId: string): Promise<ResultSet | undefined> {
  const row = await db
    .selectFrom('result_sets')
    .select('manifest')
    .where('execution_id', '=', executionId)
    .executeTakeFirst();
  return row === undefined ? undefined : (JSON.parse(row.manifest) as ResultSet);
}

export async function hasResultSet(db: Kysely<CatalogTables>, executionId: string): Promise<boolean> {
  const row = await db
    .selectFrom('result_sets')
    .select('execution_id')
    .where('execution_id', '=', executionId)
    .executeTakeFirst();
  return row !== undefined;
}

export async function listResultSets(
  db: Kysely<CatalogTables>,
  afterId: string,
  limit: number,
): Promise<readonly { readonly id: string; readonly resultSet: ResultSet }[]> {
  const rows = await db
    .selectFrom('result_sets')
    .select(['execution_id', 'manifest'])
    .where('execution_id', '>', afterId)
    .orderBy('execution_id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({ id: row.execution_id, resultSet: JSON.parse(row.manifest) as ResultSet }));
}

/** Runs whose result has expired but is still stored, oldest expiry first. */
export async function listExpired(
  db: Kysely<CatalogTables>,
  now: Instant,
  limit: number,
): Promise<readonly Execution[]> {
  const rows = await db
    .selectFrom('result_sets')
    .innerJoin('executions', 'executions.id', 'result_sets.execution_id')
    .selectAll('executions')
    .where('result_sets.expires_at', '<=', now)
    .orderBy('result_sets.expires_at')
    .orderBy('result_sets.execution_id')
    .limit(limit)
    .execute();
  return rows.map(executionOf);
}
