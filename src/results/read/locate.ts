/** Finds where a result's rows are stored, from their positions in the result. */
import type { Part } from '../../domain/result-set.ts';

export interface LocatedRows {
  readonly part: Part;
  /** Row numbers within the part, ascending; at least one. */
  readonly rows: readonly number[];
}

/** The rows at these positions (ascending), by part. Parts without any are left out. */
export function locate(parts: readonly Part[], positions: Uint32Array): readonly LocatedRows[] {
  let at = 0;
  return parts.flatMap((part) => {
    const rows: number[] = [];
    for (; at < positions.length && (positions[at] ?? 0) < part.firstRow + part.rowCount; at += 1) {
      rows.push((positions[at] ?? 0) - part.firstRow);
    }
    return rows.length === 0 ? [] : [{ part, rows }];
  });
}
