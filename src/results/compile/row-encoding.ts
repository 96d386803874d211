/** How rows become text: which columns, in which format. */
import type { Column } from '../../domain/result-set.ts';
import type { Spelling } from '../plan/read-plan.ts';
import type { TextFormat } from '../request/format.ts';

/** What stands between two rows, and so between two chunks. */
export const ROW_SEPARATOR: Readonly<Record<TextFormat, string>> = { json: ',', ndjson: '\n', csv: '\n' };

/** A column of the answer and where it is stored. */
export interface ProjectedColumn extends Column {
  /** Its index in the stored result set. */
  readonly index: number;
}

/** How rows become text: which columns, in which format, how spelled. */
export interface RowEncoding {
  readonly columns: readonly ProjectedColumn[];
  readonly format: TextFormat;
  /** Absent: plain. */
  readonly spelling?: Spelling;
}
