/** Where rows of a result are stored, by their positions in it. */
import type { Part } from '../../domain/result-set.ts';

export interface LocatedRows {
  readonly part: Part;
  /** Counted within the part, in order; at least one. */
  readonly rows: readonly number[];
}

/** The rows that lie at positions, which are in order, by the parts that have any of them. */
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
