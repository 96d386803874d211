/** Views for a read of some columns: with all columns, so that they serve every other read too, or with these alone where whole rows are too wide. */
import { isOutOfMemory } from '../../duckdb/duckdb.ts';
import { RequestError } from '../../errors/errors.ts';
import type { ProjectedColumn } from '../compile/row-encoding.ts';
import { viewIdentity } from '../compile/view.ts';
import { madeIdentity } from '../derived/views/made-identity.ts';
import type { OpenView, ViewCache } from '../derived/views/view-cache.ts';
import type { View } from '../plan/view.ts';
import type { ReadRequest } from './page.ts';

export interface ViewForColumns {
  readonly open: OpenView;
  /** Its parts have no other columns than those it is for, under the names that they have in the result. */
  readonly isNarrow: boolean;
}

/** @throws as `ViewCache.get` */
export async function openViewFor(
  { executionId, resultSet, keyId }: Pick<ReadRequest, 'executionId' | 'resultSet' | 'keyId'>,
  view: View,
  columns: readonly ProjectedColumn[],
  views: ViewCache,
  signal: AbortSignal,
): Promise<ViewForColumns> {
  const indexes = columns.map(({ index }) => index).toSorted((a, b) => a - b);
  const whole = viewIdentity(executionId, view);
  const identity = madeIdentity('narrow', [whole, indexes]);
  if (!views.hasMade(identity)) {
    try {
      return { open: await views.get(whole, { view, resultSet }, keyId, signal), isNarrow: false };
    } catch (error) {
      const isTooWide = error instanceof RequestError && isOutOfMemory(error.cause);
      if (!isTooWide || columns.length >= resultSet.columns.length) throw error;
    }
  }
  return { open: await views.get(identity, { view, resultSet, columns }, keyId, signal), isNarrow: true };
}
