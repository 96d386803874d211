/** Puts rows in the order of sort keys by means of indexes. Ties keep stored order (contract §2). */
import type { BoundSortKey } from '../../plan/bind-sort.ts';
import { countOf, type EntryRange, joinPositions } from './entry-ranges.ts';
import { type EntryHits, type LookUps, nullCountOf } from './find-rows.ts';
import { NO_RANK } from './index-format.ts';
import type { IndexLookUp } from './index-look-up.ts';

/** More rows are not sorted here: comparing them would block the event loop for more than a few milliseconds. */
const SORTED_ROWS_MAX = 8192;

/** Places in an order, from the first (inclusive) to the second (exclusive). */
export type Places = EntryRange;

/** @returns the positions in the order of the sort keys; undefined where a key has no ranks, or there are too many positions */
export async function inOrder(
  positions: Uint32Array,
  keys: readonly BoundSortKey[],
  lookUps: LookUps,
): Promise<Uint32Array | undefined> {
  if (keys.length === 0) return positions;
  if (positions.length > SORTED_ROWS_MAX) return undefined;
  const ranked: { readonly key: BoundSortKey; readonly ranks: Uint32Array }[] = [];
  for (const key of keys) {
    const lookUp = lookUps.get(key.columnIndex);
    if (lookUp === undefined || lookUp.table.rankBlocks.length === 0) return undefined;
    ranked.push({ key, ranks: await lookUp.ranks(positions) });
  }
  // Positions are ascending, and the sort is stable.
  const order = Array.from(positions.keys()).sort((a, b) => {
    for (const { key, ranks } of ranked) {
      const difference = compareRanks(ranks[a] ?? NO_RANK, ranks[b] ?? NO_RANK, key);
      if (difference !== 0) return difference;
    }
    return 0;
  });
  return Uint32Array.from(order, (index) => positions[index] ?? 0);
}

/** The rows at these places, out of all that the index of the only sort key has found. Not all of them need be read. */
export async function atPlaces(hits: EntryHits, key: BoundSortKey, { from, to }: Places): Promise<Uint32Array> {
  const { lookUp, ranges, nulls } = hits;
  const nullCount = nulls ? nullCountOf(lookUp) : 0;
  const valueCount = countOf(ranges);
  const [nullsAt, valuesAt] = key.nullsFirst ? [0, nullCount] : [valueCount, 0];
  const ofNulls = within({ from, to }, nullsAt, nullCount);
  const ofValues = within({ from, to }, valuesAt, valueCount);
  const values = key.descending
    ? await descending(lookUp, ranges, ofValues)
    : await ascending(lookUp, ranges, ofValues);
  const missing = [await lookUp.nulls(ofNulls)];
  return joinPositions(key.nullsFirst ? [...missing, ...values] : [...values, ...missing]);
}

function compareRanks(a: number, b: number, { descending, nullsFirst }: BoundSortKey): number {
  if (a === b) return 0;
  if (a === NO_RANK || b === NO_RANK) return (a === NO_RANK) === nullsFirst ? -1 : 1;
  return a < b === descending ? 1 : -1;
}

/** The part of `places` that falls on the `count` places from `start` on, counted from `start`. */
function within({ from, to }: Places, start: number, count: number): Places {
  const clamp = (place: number) => Math.min(count, Math.max(0, place - start));
  return { from: clamp(from), to: clamp(to) };
}

async function ascending(lookUp: IndexLookUp, ranges: readonly EntryRange[], places: Places): Promise<Uint32Array[]> {
  const lists: Uint32Array[] = [];
  let start = 0;
  for (const range of ranges) {
    const { from, to } = within(places, start, range.to - range.from);
    if (from < to) lists.push(await lookUp.positions({ from: range.from + from, to: range.from + to }));
    start += range.to - range.from;
  }
  return lists;
}

/** From the greatest value to the least; rows of equal value in stored order. Each range has all rows of a value or none. */
async function descending(lookUp: IndexLookUp, ranges: readonly EntryRange[], places: Places): Promise<Uint32Array[]> {
  const lists: Uint32Array[] = [];
  let start = 0;
  for (const range of ranges.toReversed()) {
    const part = within(places, start, range.to - range.from);
    for (let place = part.from; place < part.to; ) {
      const equal = await lookUp.equalTo(range.to - 1 - place);
      const from = equal.from + place - (range.to - equal.to);
      const to = Math.min(equal.to, from + part.to - place);
      lists.push(await lookUp.positions({ from, to }));
      place += to - from;
    }
    start += range.to - range.from;
  }
  return lists;
}
