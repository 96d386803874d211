/** What a share shows of a result: some columns, some rows (contract §11). Pure. */
import type { Column } from '../../domain/result-set.ts';
import type { Share } from '../../domain/share.ts';
import type { ExpressionLimits } from '../../expression/limits.ts';
import type { ProjectedColumn } from '../compile/row-encoding.ts';
import { columnsNamed, rowsMatching } from '../plan/read-plan.ts';
import type { View } from '../plan/view.ts';

export interface Restriction {
  readonly view: View;
  /** In the order in which the share names them. */
  readonly columns: readonly ProjectedColumn[];
}

/** Undefined: the share shows all of the result. @throws RequestError unknown_column · filter_… */
export function restrictionOf(
  { columns: names, filters }: Pick<Share, 'columns' | 'filters'>,
  columns: readonly Column[],
  limits: ExpressionLimits,
): Restriction | undefined {
  if (names === undefined && filters === undefined) return undefined;
  const view = { rows: rowsMatching({ filters }, columns, limits), sortKeys: [] };
  const shown = columnsNamed(names, columns).map((index) => ({ ...(columns[index] as Column), index }));
  return { view, columns: shown };
}
