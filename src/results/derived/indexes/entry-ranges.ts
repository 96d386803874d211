/** Sets of whole numbers: as ranges (in order, with gaps between them), and as lists of positions (in order, each once). */
import { sumOf } from '../../../domain/sum-of.ts';

/** A range of entries by number: from the first (inclusive) to the second (exclusive). */
export interface EntryRange {
  readonly from: number;
  readonly to: number;
}

export function countOf(ranges: readonly EntryRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from, 0);
}

/** The same numbers, as ranges that are in order, not empty, and with gaps between them. */
export function normalize(ranges: readonly EntryRange[]): readonly EntryRange[] {
  const merged: { from: number; to: number }[] = [];
  for (const { from, to } of ranges.filter((range) => range.from < range.to).toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last === undefined || from > last.to) merged.push({ from, to });
    else last.to = Math.max(last.to, to);
  }
  return merged;
}

/** The numbers below `end` that are in none of the ranges. */
export function complement(ranges: readonly EntryRange[], end: number): readonly EntryRange[] {
  const starts = [0, ...ranges.map(({ to }) => to)];
  const ends = [...ranges.map(({ from }) => from), end];
  return normalize(starts.map((from, index) => ({ from, to: ends[index] ?? from })));
}

/** @param a in order, with gaps between ranges, as `b` */
export function intersect(a: readonly EntryRange[], b: readonly EntryRange[]): readonly EntryRange[] {
  const both: EntryRange[] = [];
  for (let [i, j] = [0, 0]; i < a.length && j < b.length; ) {
    const [left, right] = [a[i], b[j]];
    if (left === undefined || right === undefined) break;
    const [from, to] = [Math.max(left.from, right.from), Math.min(left.to, right.to)];
    if (from < to) both.push({ from, to });
    if (left.to <= right.to) i += 1;
    else j += 1;
  }
  return both;
}

export function includes(ranges: readonly EntryRange[], number: number): boolean {
  let [low, high] = [0, ranges.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ranges[middle]?.to ?? 0) <= number) low = middle + 1;
    else high = middle;
  }
  return number >= (ranges[low]?.from ?? Number.POSITIVE_INFINITY);
}

/** One list after the other. */
export function joinPositions(lists: readonly Uint32Array[]): Uint32Array {
  const all = new Uint32Array(sumOf(lists, 'length'));
  let filled = 0;
  for (const list of lists) {
    all.set(list, filled);
    filled += list.length;
  }
  return all;
}

/** @param lists each in order, without repetition */
export function unitePositions(lists: readonly Uint32Array[]): Uint32Array {
  const all = joinPositions(lists);
  // A typed array sorts as numbers; a plain array would sort as text.
  all.sort();
  return all.filter((position, index) => index === 0 || position !== all[index - 1]);
}

/** @param a in order, without repetition, as `b` */
export function intersectPositions(a: Uint32Array, b: Uint32Array): Uint32Array {
  let at = 0;
  return a.filter((position) => {
    while (at < b.length && (b[at] ?? 0) < position) at += 1;
    return b[at] === position;
  });
}
