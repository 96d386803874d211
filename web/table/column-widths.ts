/** Widths of columns: wide enough for the name and the first values, until the visitor drags the edge. */
import type { Column } from '../api/answers.ts';
import { cellText, isNumberType } from './cell-text.ts';
import type { Row } from './row-pages.ts';

const CHARACTER = 7.6;
const PADDING = 26;
const [MIN, MAX] = [64, 340];

export interface PlacedColumn extends Column {
  /** Among those shown. */
  readonly at: number;
  /** From the left edge; px. */
  readonly left: number;
  readonly width: number;
  readonly isNumber: boolean;
}

/** @param chosen widths that the visitor has set, by column name */
export function placeColumns(
  columns: readonly Column[],
  sample: readonly Row[],
  chosen: ReadonlyMap<string, number>,
  gutter: number,
): readonly PlacedColumn[] {
  let left = gutter;
  return columns.map((column, at) => {
    const width = chosen.get(column.name) ?? fittingWidth(column, at, sample);
    const placed = { ...column, at, left, width, isNumber: isNumberType(column.type) };
    left += width;
    return placed;
  });
}

function fittingWidth({ name, type }: Column, at: number, sample: readonly Row[]): number {
  const lengths = sample.map((row) => cellText(row[at] ?? null, type).text.length);
  const characters = Math.max(name.length + 3, type.length * 0.8, ...lengths);
  return Math.round(Math.min(MAX, Math.max(MIN, characters * CHARACTER + PADDING)));
}

/** The columns that overlap the range from `from` to `to`, in px. */
export function columnsBetween(columns: readonly PlacedColumn[], from: number, to: number): readonly PlacedColumn[] {
  return columns.filter(({ left, width }) => left + width >= from && left <= to);
}
