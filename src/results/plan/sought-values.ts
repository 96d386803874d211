/**
 * What can be said of a filter by knowing only which values a stretch of rows may have: whether any of its rows may match. Filters of
 * which this says nothing, such as `like` or `<`, may match anywhere. Nulls are no values, and match no value.
 */
import type { ColumnRef, Predicate, Value } from './predicate.ts';

/** False where no row has this value in the column. */
export type MayHave = (column: ColumnRef, value: Value) => boolean;

export interface SoughtValue {
  readonly column: ColumnRef;
  readonly value: Value;
}

/** @returns false where the predicate is true for no row */
export function mayMatch(predicate: Predicate, mayHave: MayHave): boolean {
  switch (predicate.kind) {
    case 'and':
      return predicate.operands.every((operand) => mayMatch(operand, mayHave));
    case 'or':
      return predicate.operands.some((operand) => mayMatch(operand, mayHave));
    case 'comparison':
      return predicate.operator !== '=' || mayHave(predicate.column, predicate.value);
    case 'in':
      return predicate.values.some((value) => mayHave(predicate.column, value));
    case 'unknown':
      return false;
    default:
      return true;
  }
}

/** The values whose absence may decide that nothing matches: those that `mayMatch` asks about. */
export function soughtValues(predicate: Predicate): readonly SoughtValue[] {
  switch (predicate.kind) {
    case 'and':
    case 'or':
      return predicate.operands.flatMap(soughtValues);
    case 'comparison':
      return predicate.operator === '=' ? [{ column: predicate.column, value: predicate.value }] : [];
    case 'in':
      return predicate.values.map((value) => ({ column: predicate.column, value }));
    default:
      return [];
  }
}
