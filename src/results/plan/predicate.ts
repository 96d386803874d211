/**
 * A predicate: a filter as a tree over a result's columns, every name a column's position, every literal a value of its
 * column's type. It holds what SQL's three-valued logic needs and nothing of what was typed.
 */
import type { ColumnType } from '../../domain/column-type.ts';
import type { ComparisonOperator } from '../../expression/tree.ts';
import type { LikePattern } from './literals/pattern.ts';

export interface ColumnRef {
  /** Position in the result's columns. */
  readonly index: number;
  readonly type: ColumnType;
}

/**
 * A value of a column's type, never null:
 *
 * | type | value |
 * |---|---|
 * | boolean | boolean |
 * | tinyint … bigint, hugeint, uint256, int256 | bigint |
 * | decimal(p, s) | bigint, in units of 10^-s |
 * | date | bigint, days since 1970-01-01 |
 * | timestamp | bigint, microseconds (nanoseconds for 9 digits) since 1970-01-01T00:00:00Z |
 * | time without zone | bigint, microseconds since midnight |
 * | interval | bigint, its length in microseconds: a month is 30 days, a day 24 hours |
 * | real, double | text of a decimal number, `NaN`, `Infinity` or `-Infinity` |
 * | varchar, json | the text |
 * | varbinary | hexadecimal digits |
 * | uuid | `6f1c…-…`, in lower case |
 * | time with zone | `10:00:00.000000+00:00` |
 */
export type Value = boolean | bigint | string;

export type Predicate =
  | { readonly kind: 'and' | 'or'; readonly operands: readonly Predicate[] }
  | { readonly kind: 'not'; readonly operand: Predicate }
  /** A boolean column: its own value. */
  | { readonly kind: 'flag'; readonly column: ColumnRef }
  /** Unknown for every row. */
  | { readonly kind: 'unknown' }
  /** The same for every row that has a value in the column; unknown where it is null. */
  | { readonly kind: 'known'; readonly column: ColumnRef; readonly truth: boolean }
  | {
      readonly kind: 'comparison';
      readonly column: ColumnRef;
      readonly operator: ComparisonOperator;
      readonly value: Value;
    }
  | {
      readonly kind: 'columns';
      readonly left: ColumnRef;
      readonly operator: ComparisonOperator;
      readonly right: ColumnRef;
    }
  /** At least one value. */
  | { readonly kind: 'in'; readonly column: ColumnRef; readonly values: readonly Value[] }
  | {
      readonly kind: 'like';
      readonly column: ColumnRef;
      readonly pattern: LikePattern;
      readonly caseInsensitive: boolean;
    }
  /**
   * One of the columns, of which there is at least one, has a value whose text (`plainText`) contains this one, whatever the case; of an
   * array, one of its elements.
   */
  | { readonly kind: 'search'; readonly columns: readonly ColumnRef[]; readonly text: string }
  | { readonly kind: 'is-null'; readonly column: ColumnRef }
  | { readonly kind: 'is-truth'; readonly column: ColumnRef; readonly truth: boolean }
  /** An array column has an element that equals the value, which is of the type of its elements. */
  | { readonly kind: 'contains'; readonly column: ColumnRef; readonly element: ColumnType; readonly value: Value };
