/** Views for a read of some columns: with all columns, so that they serve every other read too, or with these alone where whole rows are too wide. */
import { createHash } from 'node:crypto';
import { isOutOfMemory } from '../../duckdb/duckdb.ts';
import { RequestError } from '../../errors/errors.ts';
import type { ResultStore } from '../../store/result-store.ts';
import type { ProjectedColumn } from '../compile/row-encoding.ts';
import { viewIdentity } from '../compile/view.ts';
import { materializeView } from '../derived/views/materialize-view.ts';
import type { MakeView, OpenView, ViewCache } from '../derived/views/view-cache.ts';
import { openAll } from '../limits/open-all.ts';
import type { View } from '../plan/view.ts';
import type { ReadRequest } from './page.ts';
import { wholePart } from './part-ranges.ts';

export interface NarrowDeps {
  readonly store: Pick<ResultStore, 'open'>;
  readonly views: ViewCache;
}

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
  { store, views }: NarrowDeps,
  signal: AbortSignal,
): Promise<ViewForColumns> {
  const indexes = columns.map(({ index }) => index).toSorted((a, b) => a - b);
  const identity = narrowIdentity(executionId, view, indexes);
  if (!views.hasMade(identity)) {
    try {
      return { open: await views.get(executionId, resultSet, view, keyId, signal), isNarrow: false };
    } catch (error) {
      const isTooWide = error instanceof RequestError && isOutOfMemory(error.cause);
      if (!isTooWide || columns.length >= resultSet.columns.length) throw error;
    }
  }
  const make: MakeView = async (duckDb, destination, during) => {
    await using objects = new AsyncDisposableStack();
    const open = (part: (typeof resultSet.parts)[number], within: AbortSignal) =>
      store.open(part, wholePart(part), within);
    const paths = await openAll(resultSet.parts, open, objects, during);
    return await materializeView(duckDb, { view, resultSet, paths, columns }, destination, during);
  };
  return { open: await views.getMade(identity, make, keyId, signal), isNarrow: true };
}

function narrowIdentity(executionId: string, view: View, indexes: readonly number[]): string {
  const made = JSON.stringify([viewIdentity(executionId, view), indexes]);
  return `narrow-${createHash('sha256').update(made).digest('hex').slice(0, 32)}`;
}
