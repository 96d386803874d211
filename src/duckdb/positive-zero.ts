/**
 * There is one zero: −0.0 is stored and written as 0.0 (decision 12). DuckDB's Parquet writer has one zero in its dictionaries, so that of
 * both within a row group all would read back as whichever came first.
 */

/** SQL for a REAL or DOUBLE as it is, with 0.0 for −0.0. */
export function positiveZero(expression: string): string {
  return `(${expression} + 0)`;
}
