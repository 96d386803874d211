/** A cell that the visitor has chosen. */
import type { Column } from '../api/answers.ts';
import type { ExactJson } from '../api/exact-json.ts';

export interface Cell {
  /** In the view, from 0. */
  readonly row: number;
  /** Among the columns shown. */
  readonly at: number;
  readonly column: Column;
  /** Undefined while its row is on its way. */
  readonly value: ExactJson | undefined;
}
