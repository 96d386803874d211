/** Whether the columns that a query gave are those that its dataset promises: same names, same types, same order. */
import { formatColumnType } from '../domain/column-type.ts';
import type { Column } from '../domain/result-set.ts';

/** What differs first, in words; undefined when nothing does. Names are compared without case: engines may fold it. */
export function columnMismatch(declared: readonly Column[], found: readonly Column[]): string | undefined {
  for (const [i, column] of declared.entries()) {
    const other = found[i];
    if (other === undefined) return `column ${i + 1}, ${print(column)}, is missing`;
    if (print(column).toLowerCase() !== print(other).toLowerCase()) {
      return `column ${i + 1}: found ${print(other)}, expected ${print(column)}`;
    }
  }
  const extra = found[declared.length];
  return extra === undefined
    ? undefined
    : `column ${declared.length + 1}: found ${print(extra)}, expected no more columns`;
}

function print(column: Column): string {
  return `${column.name} ${formatColumnType(column.type)}`;
}
