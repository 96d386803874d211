/** Which runs had certain values of their parameters. */
import { type Expression, expressionBuilder, type Kysely, type SqlBool, sql } from 'kysely';
import type { CatalogTables } from './tables.ts';

/**
 * The condition that a run had all of these values. They are counted: PostgreSQL plans a condition for each value as a join, and takes
 * minutes for a hundred.
 * @param executionId the column with the run's id, in the query that the condition is part of
 */
export function hasParameters(
  db: Kysely<CatalogTables>,
  executionId: string,
  values: readonly (readonly [name: string, value: string])[],
): Expression<SqlBool> {
  const found = db
    .selectFrom('execution_parameters as own')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('own.execution_id', '=', sql.ref<string>(executionId))
    .where((eb) => eb.or(values.map(([name, value]) => eb.and({ 'own.name': name, 'own.value': value }))));
  return expressionBuilder<CatalogTables>()(found, '=', values.length);
}
