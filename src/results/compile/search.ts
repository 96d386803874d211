/**
 * `search` as SQL: whether one of the columns contains the text, whatever the case. `lower` folds both sides, as for `ilike`.
 */
import { type ColumnType, formatColumnType } from '../../domain/column-type.ts';
import { FEW_COLUMNS_MAX } from '../../duckdb/few-columns.ts';
import { plainText } from '../../duckdb/json-value.ts';
import type { Parameters } from '../../duckdb/parameters.ts';
import { storedColumn } from '../../duckdb/storage-type.ts';
import type { ColumnRef } from '../plan/predicate.ts';

/** @param columns at least one @returns SQL of type BOOLEAN in parentheses, true for rows that match, else false or null */
export function compileSearch(columns: readonly ColumnRef[], text: string, parameters: Parameters): string {
  const wanted = `lower(${parameters.add(text)})`;
  if (columns.length <= FEW_COLUMNS_MAX) {
    return `(${columns.map(({ type, index }) => holds(type, storedColumn(index), wanted)).join(' OR ')})`;
  }
  // Planning an expression for each column takes time in the square of their number: one for each type instead.
  const groups = Map.groupBy(columns, ({ type }) => formatColumnType(type));
  const found = [...groups.values()].flatMap((members) => {
    const [first] = members;
    if (first === undefined) return [];
    const cells = members.map(({ index }) => storedColumn(index)).join(', ');
    return [`list_bool_or(list_transform([${cells}], lambda cell: ${holds(first.type, 'cell', wanted)}))`];
  });
  return `(${found.join(' OR ')})`;
}

/** SQL of whether a stored value contains the text; null where it is null. */
function holds(type: ColumnType, stored: string, wanted: string): string {
  if (type.kind !== 'array') return `contains(lower(${plainText(type, stored)}), ${wanted})`;
  const element = `contains(lower(${plainText(type.element, 'element')}), ${wanted})`;
  return `list_bool_or(list_transform(${stored}, lambda element: ${element}))`;
}
