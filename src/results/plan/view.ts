/** A view of a result: which of its rows, in which order. */
import type { Draw } from '../../domain/sample.ts';
import type { BoundSortKey } from './bind-sort.ts';
import type { Predicate } from './predicate.ts';

export interface View {
  readonly rows: ViewRows;
  readonly sortKeys: readonly BoundSortKey[];
}

export type ViewRows =
  | { readonly kind: 'all' }
  | { readonly kind: 'matching'; readonly predicate: Predicate }
  /** The rows that a draw takes, from parts that begin at `firstRows`. */
  | { readonly kind: 'drawn'; readonly draw: Draw; readonly firstRows: readonly number[] };
