/**
 * A comparison of a column with a literal that may lie between or beyond the values its type can hold, as a predicate
 * that DuckDB can evaluate within the type.
 */
import type { ComparisonOperator } from '../../expression/tree.ts';
import type { Reading, Unreadable } from './literals/reading.ts';
import type { ColumnRef, Predicate } from './predicate.ts';

export function compareLiteral(
  column: ColumnRef,
  operator: ComparisonOperator,
  reading: Exclude<Reading, Unreadable>,
): Predicate {
  switch (reading.kind) {
    case 'value':
      return { kind: 'comparison', column, operator, value: reading.value };
    case 'between':
      return compareBetween(column, operator, reading.below);
    case 'beyond':
      return compareBeyond(column, operator, reading.side);
    default:
      return reading satisfies never;
  }
}

/** No value equals the literal. Values up to the point below it are less, all others are greater. */
function compareBetween(column: ColumnRef, operator: ComparisonOperator, below: bigint): Predicate {
  switch (operator) {
    case '=':
      return { kind: 'known', column, truth: false };
    case '!=':
      return { kind: 'known', column, truth: true };
    case '<':
    case '<=':
      return { kind: 'comparison', column, operator: '<=', value: below };
    case '>':
    case '>=':
      return { kind: 'comparison', column, operator: '>', value: below };
    default:
      return operator satisfies never;
  }
}

function compareBeyond(column: ColumnRef, operator: ComparisonOperator, side: 'below' | 'above'): Predicate {
  if (operator === '=' || operator === '!=') return { kind: 'known', column, truth: operator === '!=' };
  const isLess = operator === '<' || operator === '<=';
  if (column.type.kind !== 'real' && column.type.kind !== 'double') {
    return { kind: 'known', column, truth: isLess === (side === 'above') };
  }
  // Infinities and NaN are beyond every number that can be typed.
  const [below, above] = isLess ? (['<=', '<'] as const) : (['>', '>='] as const);
  return side === 'below'
    ? { kind: 'comparison', column, operator: below, value: '-Infinity' }
    : { kind: 'comparison', column, operator: above, value: 'Infinity' };
}
