/**
 * `=` and `<>` between a column and a value, compiled so that DuckDB uses no bloom filter of a Parquet file. DuckDB 1.5 looks up binary
 * values (by their printed form, not their bytes) and floating values (−0.0 and 0.0, and the two signs of not-a-number, are equal but
 * hash differently) wrongly in them, and skips row groups that have the value. We write no bloom filters any more; files that were stored
 * earlier have them (decision 10).
 */
import type { ColumnType } from '../../domain/column-type.ts';

/** SQL, to be put in parentheses, of whether `column` equals `value`, both as `comparableColumn` and `compileValue` give them. */
export function compileEqual(column: string, value: string, { kind }: ColumnType): string {
  // As a range: DuckDB then skips row groups by minimum and maximum, which are right.
  return isLookedUpWrongly(kind) ? `${column} >= ${value} AND ${column} <= ${value}` : `${column} = ${value}`;
}

/** The opposite of `compileEqual`: DuckDB makes `=` of a negated `<>`. */
export function compileUnequal(column: string, value: string, { kind }: ColumnType): string {
  return isLookedUpWrongly(kind) ? `${column} < ${value} OR ${column} > ${value}` : `${column} <> ${value}`;
}

/** SQL, to be put in parentheses, of whether `column` equals one of the values, of which there is at least one. */
export function compileIn(column: string, values: readonly string[], type: ColumnType): string {
  const [only] = values;
  // DuckDB turns a list of one value into `=`. Longer lists it compares with minimum and maximum only.
  if (only !== undefined && values.length === 1) return compileEqual(column, only, type);
  return `${column} IN (${values.join(', ')})`;
}

function isLookedUpWrongly(kind: ColumnType['kind']): boolean {
  return kind === 'varbinary' || kind === 'real' || kind === 'double';
}
