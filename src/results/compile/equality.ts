/**
 * `=` and `<>` between a column and a value, so that no bloom filter of a Parquet file is asked. DuckDB 1.5 looks values up in them
 * wrongly where they are binary (it hashes their printed form, not their bytes) or floating (−0.0 and 0.0, and the two signs
 * of not-a-number, are equal but hash differently), and skips row groups that have them. We no longer write bloom filters;
 * files stored earlier have them.
 */
import type { ColumnType } from '../../domain/column-type.ts';

/** SQL, to be put in parentheses, of whether `column` equals `value`, both as `comparableColumn` and `compileValue` give them. */
export function compileEqual(column: string, value: string, { kind }: ColumnType): string {
  // As a range: minimum and maximum still skip row groups, and are right.
  return isLookedUpWrongly(kind) ? `${column} >= ${value} AND ${column} <= ${value}` : `${column} = ${value}`;
}

/** The opposite of `compileEqual`: DuckDB makes `=` of a negated `<>`. */
export function compileUnequal(column: string, value: string, { kind }: ColumnType): string {
  return isLookedUpWrongly(kind) ? `${column} < ${value} OR ${column} > ${value}` : `${column} <> ${value}`;
}

/** SQL, to be put in parentheses, of whether `column` equals one of the values, of which there is at least one. */
export function compileIn(column: string, values: readonly string[], type: ColumnType): string {
  const [only] = values;
  // DuckDB makes `=` of a list of one value; longer lists it compares with minimum and maximum alone.
  if (only !== undefined && values.length === 1) return compileEqual(column, only, type);
  return `${column} IN (${values.join(', ')})`;
}

function isLookedUpWrongly(kind: ColumnType['kind']): boolean {
  return kind === 'varbinary' || kind === 'real' || kind === 'double';
}
