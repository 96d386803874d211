/** Which stored columns an answer has, and how its rows become text. */
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

/** All columns of a result, each stored under the number of its place. */
export function projectAll(columns: readonly Column[]): readonly ProjectedColumn[] {
  return columns.map((column, index) => ({ ...column, index }));
}

/** About the bytes of rows as JSON: each row repeats the names, and texts and numbers take about twice their cell bytes. */
export function estimatedBytes(columns: readonly Column[], rowCount: number, cellBytes: number): number {
  const names = columns.reduce((sum, { name }) => sum + name.length + 4, 0);
  return rowCount * names + 2 * cellBytes;
}

/** Of the rows of an answer. */
export interface RowEncoding {
  readonly columns: readonly ProjectedColumn[];
  readonly format: TextFormat;
  /** Absent: plain. */
  readonly spelling?: Spelling;
}
