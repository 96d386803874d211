/**
 * Integers of more than 64 bits and decimals of more than 38 digits are stored as their digits. They are compared by the number of digits
 * and then digit by digit: 9 ms for a million rows, where making numbers of them (BIGNUM) takes 200.
 */
import type { ColumnType } from '../../domain/column-type.ts';
import { isWideDecimal } from '../../duckdb/storage-type.ts';
import type { ComparisonOperator } from '../../expression/tree.ts';

/** Whether values of the type are stored as digits. Those of a decimal have the point at the same place from the right. */
export function isWide(type: ColumnType): boolean {
  return type.kind === 'hugeint' || type.kind === 'uint256' || type.kind === 'int256' || isWideDecimal(type);
}

/** `parameter` stands for `digits`, those of the value to compare with. The SQL is to be put in parentheses. */
export function compareWide(
  stored: string,
  signed: boolean,
  operator: ComparisonOperator,
  digits: string,
  parameter: string,
): string {
  if (operator === '=') return `${stored} = ${parameter}`;
  if (operator === '!=') return `${stored} <> ${parameter}`;
  const { length } = digits;
  const isLess = operator.startsWith('<');
  const isNegative = digits.startsWith('-');
  // Of two negative numbers the longer is less; of two of the same length, the one whose digits come later.
  const towards = isLess !== isNegative ? '<' : '>';
  const orEqual = operator.endsWith('=') ? '=' : '';
  const magnitude = `strlen(${stored}) ${towards} ${length} OR strlen(${stored}) = ${length} AND ${stored} ${towards}${orEqual} ${parameter}`;
  if (!signed) return magnitude;
  const isStoredNegative = `starts_with(${stored}, '-')`;
  if (isNegative) return isLess ? `${isStoredNegative} AND (${magnitude})` : `NOT ${isStoredNegative} OR ${magnitude}`;
  return isLess ? `${isStoredNegative} OR ${magnitude}` : `NOT ${isStoredNegative} AND (${magnitude})`;
}
