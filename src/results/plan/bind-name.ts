/** Names in expressions → columns, with the position of the name in the error when there is no such column. */
import type { Column } from '../../domain/result-set.ts';
import { shortened } from '../../domain/shortened.ts';
import { type ExpressionError, expressionError, type Source } from '../../expression/expression-error.ts';
import type { Name } from '../../expression/tree.ts';
import { describeMissing, findColumn } from './find-column.ts';
import type { ColumnRef } from './predicate.ts';

/** @throws ExpressionError for a name that is no column, or more than one. */
export function bindName(name: Name, columns: readonly Column[], source: Source): ColumnRef {
  const found = findColumn(name.text, columns);
  if (found.kind === 'found') return columnAt(found.index, columns);
  throw columnError(name, describeMissing(name.text, found, columns), source);
}

/** As `bindName`, for a name that stands where a value could: a text without its quotes looks like a name. */
export function bindNameOrAdviseQuotes(name: Name, columns: readonly Column[], source: Source): ColumnRef {
  const found = findColumn(name.text, columns);
  if (found.kind === 'found') return columnAt(found.index, columns);
  const advice = `A text goes in single quotes: '${shortened(name.text, 40)}'.`;
  const message = describeMissing(name.text, found, columns);
  throw columnError(name, found.kind === 'unknown' ? `${message} ${advice}` : message, source);
}

/** As `bindName`, but undefined for a name that is no column at all. */
export function findName(name: Name, columns: readonly Column[], source: Source): ColumnRef | undefined {
  const found = findColumn(name.text, columns);
  if (found.kind === 'found') return columnAt(found.index, columns);
  if (found.kind === 'ambiguous') throw columnError(name, describeMissing(name.text, found, columns), source);
  return undefined;
}

function columnError(name: Name, message: string, source: Source): ExpressionError {
  return expressionError(source, 'column', name.at, /[.?!]$/.test(message) ? message : `${message}.`);
}

function columnAt(index: number, columns: readonly Column[]): ColumnRef {
  const column = columns[index];
  if (column === undefined) throw new RangeError(`there is no column ${index}`);
  return { index, type: column.type };
}
