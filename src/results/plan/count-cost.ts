/**
 * Whether counting the rows of a filter costs a few milliseconds. Decided by what is known of the result before anything is read, so that
 * the same request is answered alike each time: a filter looks once at the cells of its columns for each of its conditions.
 */
import type { ColumnType } from '../../domain/column-type.ts';
import type { Column, ResultSet } from '../../domain/result-set.ts';
import type { Predicate } from './predicate.ts';

/** 131,072 numbers, or a text each for about as many rows as fit: 2 to 5 ms. */
const CELL_BYTES_MAX = 1024 * 1024;
/** However small a cell is. */
const CELL_BYTES_MIN = 8;

export function isCountCheap(predicate: Predicate, { columns, rowCount, cellBytes }: ResultSet): boolean {
  const widths = columns.map(({ type }) => fixedBytesOf(type));
  const varying = widths.filter((width) => width === undefined).length;
  const fixed = widths.reduce<number>((sum, width) => sum + (width ?? 0), 0);
  const varyingBytes = Math.max(0, cellBytes / Math.max(1, rowCount) - fixed) / Math.max(1, varying);
  const rowBytes = columnsRead(predicate).reduce((sum, index) => {
    return sum + Math.max(CELL_BYTES_MIN, widths[index] ?? varyingBytes);
  }, 0);
  return rowCount * rowBytes <= CELL_BYTES_MAX;
}

/** Each as often as a condition looks at it. */
function columnsRead(predicate: Predicate): readonly number[] {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      return predicate.operands.flatMap(columnsRead);
    case 'not':
      return columnsRead(predicate.operand);
    case 'unknown':
      return [];
    case 'search':
      return predicate.columns.map(({ index }) => index);
    case 'columns':
      return [predicate.left.index, predicate.right.index];
    default:
      return [predicate.column.index];
  }
}

/** In the measure of contract §2; undefined where cells differ in length. */
function fixedBytesOf(type: Column['type']): number | undefined {
  return FIXED_BYTES[type.kind];
}

const FIXED_BYTES: Readonly<Partial<Record<ColumnType['kind'], number>>> = {
  boolean: 1,
  tinyint: 4,
  smallint: 4,
  integer: 4,
  real: 4,
  date: 4,
  bigint: 8,
  double: 8,
  timestamp: 8,
  time: 8,
  hugeint: 16,
  decimal: 16,
  interval: 16,
  uuid: 16,
  uint256: 32,
  int256: 32,
};
