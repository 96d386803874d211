/** Ranges of rows of parts, in which long reads go. */
import type { RowRange } from '../../domain/blocks.ts';
import { allRowsOf, type Part, ROW_GROUP_ROWS, widestRowOf } from '../../domain/result-set.ts';
import { sumOf } from '../../domain/sum-of.ts';

export interface PartRange extends RowRange {
  readonly part: Part;
}

/** A row group: several of them, side by side, make a page. */
export const PAGE_RANGE_ROWS = ROW_GROUP_ROWS;
/** Two row groups take a tenth less time than one by one: whoever reads everything has no need of the first rows sooner. */
export const EXPORT_RANGE_ROWS = 2 * ROW_GROUP_ROWS;
const RANGE_BYTES_AIM = 8 * 1024 * 1024;
/** A cell without a value takes no bytes where it is stored, but has its place, and its name, in an answer. */
const RANGE_CELLS_AIM = 1024 * 1024;

/**
 * Rows `from` to `to` (exclusive) of a result set, cut into ranges of at most so many rows, and fewer where these are wide.
 * @param columnCount columns that are read
 */
export function rangesOf(
  parts: readonly Part[],
  from: number,
  to: number,
  rangeRowsMax: number,
  columnCount: number,
): readonly PartRange[] {
  const ranges: PartRange[] = [];
  const fewRows = Math.min(rangeRowsMax, Math.floor(RANGE_CELLS_AIM / Math.max(1, columnCount)));
  for (const part of parts) {
    const end = Math.min(to - part.firstRow, part.rowCount);
    const rowBytes = Math.max(1, part.cellBytes / Math.max(1, part.rowCount));
    const rowsMax = Math.max(1, Math.min(fewRows, Math.floor(RANGE_BYTES_AIM / rowBytes)));
    let at = Math.max(0, from - part.firstRow);
    while (at < end) {
      // A long read goes in steps that end where row groups do, so that none is decompressed twice.
      const next = end - at <= rowsMax ? end : Math.min(end, (Math.floor(at / rowsMax) + 1) * rowsMax);
      ranges.push({ part, from: at, to: next });
      at = next;
    }
  }
  return ranges;
}

/** The ranges without their first rows. */
export function withoutFirst(
  ranges: readonly PartRange[],
  { rowCount }: { readonly rowCount: number },
): readonly PartRange[] {
  let left = rowCount;
  return ranges.flatMap((range) => {
    const from = Math.min(range.to, range.from + left);
    left -= from - range.from;
    return from < range.to ? [{ ...range, from }] : [];
  });
}

export function wholePart(part: Part): PartRange {
  return { part, ...allRowsOf(part) };
}

/** The range cut into `count` ranges of about the same size, or fewer if it has fewer rows. */
export function splitRange<T extends PartRange>(range: T, count: number): readonly T[] {
  const cutAt = (index: number) => range.from + Math.round(((range.to - range.from) * index) / count);
  const ranges = Array.from({ length: count }, (_, index) => ({
    ...range,
    from: cutAt(index),
    to: cutAt(index + 1),
  }));
  return ranges.filter(({ from, to }) => from < to);
}

/** Cell bytes that so many rows of the parts may have at most. */
export function cellBytesMaxOf(parts: readonly Part[], rowCount: number): number {
  return Math.min(rowCount * widestRowOf(parts), sumOf(parts, 'cellBytes'));
}
