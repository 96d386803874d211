/** The soak's rows, made by a query that the service runs itself: what such runs hold can be checked cell by cell, too. */
import type { Run } from '../../soak/rows.ts';

export const RUN_ROWS = 3000;

/** What gives the whole numbers below `RUN_ROWS`, by what runs the query. */
const NUMBERS = { duckdb: `range(${RUN_ROWS})`, trino: `UNNEST(sequence(0, ${RUN_ROWS - 1}))` } as const;

/** @param run a number, or a parameter of the query */
export function rowsSql(run: string, engine: keyof typeof NUMBERS): string {
  const number = `CAST(${run} AS BIGINT)`;
  return `SELECT id, run, bucket, 'name ' || CAST(bucket AS VARCHAR) AS name,
  CAST(cents * CAST(0.01 AS DECIMAL(3, 2)) AS DECIMAL(12, 2)) AS amount,
  CASE WHEN id % 5 = 0 THEN NULL ELSE 'run ' || CAST(run AS VARCHAR) || ', "row" ' || CAST(id AS VARCHAR) END AS note
FROM (
  SELECT id, ${number} AS run, (id * 7919 + ${number} * 104729) % 1000 AS bucket, (id * 31 + ${number} * 17) % 1000000 AS cents
  FROM ${NUMBERS[engine]} AS numbers (id)
) AS made
ORDER BY id`;
}

export function sqlRun(queryId: number, number: number): Run {
  return { queryId, number, rowCount: RUN_ROWS };
}
