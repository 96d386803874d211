/** Sort keys → columns, checked to have an order. */
import { type ColumnType, formatColumnType, isNested } from '../../domain/column-type.ts';
import type { Column } from '../../domain/result-set.ts';
import { expressionError, type Source } from '../../expression/expression-error.ts';
import type { SortExpression } from '../../expression/tree.ts';
import { bindName } from './bind-name.ts';

export interface BoundSortKey {
  /** Position in the result's columns. */
  readonly columnIndex: number;
  readonly type: ColumnType;
  readonly descending: boolean;
  readonly nullsFirst: boolean;
}

/** @throws ExpressionError sort_column · sort_type */
export function bindSort(sort: SortExpression, columns: readonly Column[]): readonly BoundSortKey[] {
  const source: Source = { parameter: 'sort_by', text: sort.text };
  return sort.keys.map((key) => {
    const { index, type } = bindName(key.name, columns, source);
    if (isNested(type)) {
      const sentence = `"${columns[index]?.name}" is ${formatColumnType(type)}, and values of that type have no order.`;
      throw expressionError(source, 'type', key.name.at, sentence);
    }
    return { columnIndex: index, type, descending: key.descending, nullsFirst: key.nullsFirst };
  });
}
