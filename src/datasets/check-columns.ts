/** Whether the columns that a query gave are those that its dataset promises: same names, same types, same order. */
import { formatColumnType } from '../domain/column-type.ts';
import type { Column } from '../domain/result-set.ts';
import type { Dataset } from './dataset.ts';

/**
 * What differs first, in words: the dataset, the column and, where it is known, the line that declares it. Undefined when nothing differs.
 * Names are compared without case, which engines may fold, unless they are `exact`.
 */
export function columnMismatch(
  { name, columns: declared, columnPlaces = [] }: Pick<Dataset, 'name' | 'columns' | 'columnPlaces'>,
  found: readonly Column[],
  { exact = false } = {},
): string | undefined {
  const compared = (column: Column) => (exact ? print(column) : print(column).toLowerCase());
  for (const [i, column] of declared.entries()) {
    const other = found[i];
    const place = columnPlaces[i] === undefined ? '' : `, which ${columnPlaces[i]} declares`;
    if (other === undefined) return `dataset ${name}: column ${i + 1}, ${print(column)}${place}, is missing`;
    if (compared(column) !== compared(other)) {
      return `dataset ${name}: column ${i + 1}: found ${print(other)}, expected ${print(column)}${place}`;
    }
  }
  const extra = found[declared.length];
  return extra === undefined
    ? undefined
    : `dataset ${name}: column ${declared.length + 1}: found ${print(extra)}, expected no more columns`;
}

function print(column: Column): string {
  return `${column.name} ${formatColumnType(column.type)}`;
}
