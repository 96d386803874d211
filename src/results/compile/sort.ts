/**
 * Sort keys → the terms of an ORDER BY over stored columns. Nulls come last unless the caller says otherwise; rows that tie keep their stored
 * order.
 */
import type { ColumnType } from '../../domain/column-type.ts';
import { isWideDecimal, storedColumn } from '../../duckdb/storage-type.ts';
import type { BoundSortKey } from '../plan/bind-sort.ts';
import { comparableColumn } from './value.ts';

/** Where a row is stored: in which part, and at which of its rows. */
export const POSITION = ['file_index', 'file_row_number'] as const;

/** The terms of an ORDER BY. Its last terms are the position, so no two rows tie, and the order is the same among rows taken out of it. */
export function orderOf(keys: readonly BoundSortKey[]): string {
  return [...compileSortKeys(keys), ...POSITION].join(', ');
}

/**
 * As `orderOf`, of all rows of so many files. DuckDB sorts by keys of 8, 16, 24 or 32 bytes, so the position takes no more of them than it
 * has to: with a number or a time before it 16, where as 64-bit numbers it would make 32. A cast that does not fit fails.
 */
export function orderOfFiles(keys: readonly BoundSortKey[], fileCount: number): string {
  const type = fileCount <= 2 ** 8 ? 'UTINYINT' : fileCount <= 2 ** 16 ? 'USMALLINT' : 'UBIGINT';
  const [file, row] = POSITION;
  return [...compileSortKeys(keys), `${file}::${type}`, `${row}::UINTEGER`].join(', ');
}

/** At least one term a key: a uint256 has two. */
export function compileSortKeys(keys: readonly BoundSortKey[]): readonly string[] {
  return keys.flatMap((key) => {
    const direction = `${key.descending ? 'DESC' : 'ASC'} NULLS ${key.nullsFirst ? 'FIRST' : 'LAST'}`;
    return valueOrder(storedColumn(key.columnIndex), key.type).map((term) => `${term} ${direction}`);
  });
}

/** Terms that order stored values as the values of the type. */
function valueOrder(stored: string, type: ColumnType): readonly string[] {
  switch (type.kind) {
    case 'uint256':
      // Fewer digits first, then digit by digit: half the time of sorting BIGNUMs.
      return [`strlen(${stored})`, stored];
    case 'hugeint':
    case 'int256':
      return [`${stored}::BIGNUM`];
    case 'decimal':
      return [isWideDecimal(type) ? `replace(${stored}, '.', '')::BIGNUM` : stored];
    default:
      return [comparableColumn(stored, type)];
  }
}

/** As `valueOrder`, but only equal values tie: a month is as long as 30 days, and another value. */
export function distinctOrder(stored: string, type: ColumnType): readonly string[] {
  return type.kind === 'interval' ? [...valueOrder(stored, type), stored] : valueOrder(stored, type);
}
