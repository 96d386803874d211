/**
 * A predicate → the SQL of a WHERE clause over stored columns. The text is made of c0, c1, …, operators and parameters, and of
 * nothing that a user or a producer wrote.
 */
import type { Parameters } from '../../duckdb/parameters.ts';
import { storedColumn } from '../../duckdb/storage-type.ts';
import type { ComparisonOperator } from '../../expression/tree.ts';
import type { ColumnRef, Predicate, Value } from '../plan/predicate.ts';
import { compareColumns } from './columns.ts';
import { compileEqual, compileIn, compileUnequal } from './equality.ts';
import { compileLike } from './like.ts';
import { compileSearch } from './search.ts';
import { comparableColumn, compileValue, decimalText } from './value.ts';
import { compareWide, isWide } from './wide.ts';

/** SQL of type BOOLEAN, safe to be joined with others by AND and OR. */
export function compilePredicate(predicate: Predicate, parameters: Parameters): string {
  switch (predicate.kind) {
    case 'and':
    case 'or': {
      const operands = predicate.operands.map((operand) => compilePredicate(operand, parameters));
      return `(${operands.join(predicate.kind === 'and' ? ' AND ' : ' OR ')})`;
    }
    case 'not':
      return `(NOT ${compilePredicate(predicate.operand, parameters)})`;
    case 'flag':
      return storedColumn(predicate.column.index);
    case 'unknown':
      return 'NULL::BOOLEAN';
    case 'known': {
      const stored = storedColumn(predicate.column.index);
      return predicate.truth ? `(${stored} IS NOT NULL OR NULL)` : `(${stored} IS NULL AND NULL)`;
    }
    case 'comparison':
      return compileComparison(predicate.column, predicate.operator, predicate.value, parameters);
    case 'columns':
      return `(${compareColumns(predicate.left, predicate.operator, predicate.right)})`;
    case 'in': {
      const { index, type } = predicate.column;
      const values = predicate.values.map((value) => compileValue(value, type, parameters));
      return `(${compileIn(comparableColumn(storedColumn(index), type), values, type)})`;
    }
    case 'like': {
      const stored = storedColumn(predicate.column.index);
      return `(${compileLike(stored, predicate.pattern, predicate.caseInsensitive, parameters)})`;
    }
    case 'search':
      return compileSearch(predicate.columns, predicate.text, parameters);
    case 'is-null':
      return `(${storedColumn(predicate.column.index)} IS NULL)`;
    case 'is-truth':
      return `(${storedColumn(predicate.column.index)} IS ${predicate.truth ? 'TRUE' : 'FALSE'})`;
    case 'contains': {
      const stored = storedColumn(predicate.column.index);
      const element = comparableColumn('e', predicate.element);
      const list = element === 'e' ? stored : `list_transform(${stored}, lambda e: ${element})`;
      return `list_contains(${list}, ${compileValue(predicate.value, predicate.element, parameters)})`;
    }
    default:
      return predicate satisfies never;
  }
}

function compileComparison(
  column: ColumnRef,
  operator: ComparisonOperator,
  value: Value,
  parameters: Parameters,
): string {
  const stored = storedColumn(column.index);
  const compiled = compileValue(value, column.type, parameters);
  if (isWide(column.type) && typeof value === 'bigint') {
    const digits = column.type.kind === 'decimal' ? decimalText(value, column.type) : value.toString();
    return `(${compareWide(stored, column.type.kind !== 'uint256', operator, digits, compiled)})`;
  }
  const left = comparableColumn(stored, column.type);
  if (operator === '=') return `(${compileEqual(left, compiled, column.type)})`;
  if (operator === '!=') return `(${compileUnequal(left, compiled, column.type)})`;
  return `(${left} ${operator} ${compiled})`;
}
