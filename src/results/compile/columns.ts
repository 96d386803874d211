/**
 * One column compared with another. Numbers of exact types are compared exactly across all widths and scales; with a real or
 * double on one side both are doubles, as a literal would be. Dates and timestamps are compared as instants, in UTC.
 */
import type { ColumnType } from '../../domain/column-type.ts';
import { storageType, storedColumn } from '../../duckdb/storage-type.ts';
import type { ComparisonOperator } from '../../expression/tree.ts';
import type { ColumnRef } from '../plan/predicate.ts';
import { familyOf } from '../plan/type-family.ts';
import { comparableColumn } from './value.ts';

export function compareColumns(left: ColumnRef, operator: ComparisonOperator, right: ColumnRef): string {
  const [leftSql, rightSql] = sides(left, right);
  return `${leftSql} ${operator === '!=' ? '<>' : operator} ${rightSql}`;
}

function sides(left: ColumnRef, right: ColumnRef): readonly [string, string] {
  switch (familyOf(left.type)) {
    case 'number':
      return numbers(left, right);
    case 'instant':
      if (storageType(left.type) === storageType(right.type))
        return [storedColumn(left.index), storedColumn(right.index)];
      return [nanosSince1970(left), nanosSince1970(right)];
    default:
      return [
        comparableColumn(storedColumn(left.index), left.type),
        comparableColumn(storedColumn(right.index), right.type),
      ];
  }
}

/** DuckDB's decimals have at most so many digits. */
const DECIMAL_DIGITS_MAX = 38;

function numbers(left: ColumnRef, right: ColumnRef): readonly [string, string] {
  if (isApproximate(left.type) || isApproximate(right.type)) return [asDouble(left), asDouble(right)];
  const [leftSize, rightSize] = [sizeOf(left.type), sizeOf(right.type)];
  const scale = Math.max(leftSize.scale, rightSize.scale);
  const precision = Math.max(leftSize.wholeDigits, rightSize.wholeDigits) + scale;
  if (precision <= DECIMAL_DIGITS_MAX) {
    const cast = `DECIMAL(${precision}, ${scale})`;
    return [`${storedColumn(left.index)}::${cast}`, `${storedColumn(right.index)}::${cast}`];
  }
  return [asUnits(left, scale), asUnits(right, scale)];
}

function isApproximate(type: ColumnType): boolean {
  return type.kind === 'real' || type.kind === 'double';
}

/** Through text, which DuckDB reads as the nearest double. Its casts from decimals divide, and round twice. */
function asDouble(column: ColumnRef): string {
  const stored = storedColumn(column.index);
  return column.type.kind === 'decimal' ? `${stored}::VARCHAR::DOUBLE` : `${stored}::DOUBLE`;
}

/** As a whole number of units of 10^-scale, of any width. */
function asUnits(column: ColumnRef, scale: number): string {
  const { scale: own } = sizeOf(column.type);
  const digits =
    own === 0 ? `${storedColumn(column.index)}::VARCHAR` : `replace(${storedColumn(column.index)}::VARCHAR, '.', '')`;
  return scale === own ? `${digits}::BIGNUM` : `(${digits} || '${'0'.repeat(scale - own)}')::BIGNUM`;
}

function sizeOf(type: ColumnType): { readonly wholeDigits: number; readonly scale: number } {
  switch (type.kind) {
    case 'tinyint':
      return { wholeDigits: 3, scale: 0 };
    case 'smallint':
      return { wholeDigits: 5, scale: 0 };
    case 'integer':
      return { wholeDigits: 10, scale: 0 };
    case 'bigint':
      return { wholeDigits: 19, scale: 0 };
    case 'decimal':
      return { wholeDigits: type.precision - type.scale, scale: type.scale };
    default:
      return { wholeDigits: Number.POSITIVE_INFINITY, scale: 0 };
  }
}

/** DuckDB's date and timestamp types cannot all be cast to each other without an overflow. 128 bits hold all of them. */
function nanosSince1970(column: ColumnRef): string {
  const stored = storedColumn(column.index);
  if (column.type.kind === 'date') return `(${stored} - DATE '1970-01-01')::HUGEINT * 86400000000000`;
  if (column.type.kind === 'timestamp' && column.type.digits === 9) return `epoch_ns(${stored})::HUGEINT`;
  return `epoch_us(${stored})::HUGEINT * 1000`;
}
