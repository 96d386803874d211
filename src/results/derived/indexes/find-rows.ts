/**
 * Runs a search over the indexes that exist. It finds all rows for which the predicate is true. Where it says that hits are not
 * exact, it may find others, too, and all have to be checked.
 */
import { allInTurns } from '../../../domain/in-turns.ts';
import {
  complement,
  countOf,
  type EntryRange,
  includes,
  intersect,
  intersectPositions,
  normalize,
  unitePositions,
} from './entry-ranges.ts';
import { NO_RANK } from './index-format.ts';
import type { IndexLookUp } from './index-look-up.ts';
import type { ColumnSearch, KeyRange, Search } from './search.ts';

/** Look-ups in the indexes that exist, by the column's number. */
export type LookUps = ReadonlyMap<number, IndexLookUp>;

/** Rows, as entries in the index of one column. */
export interface EntryHits {
  readonly kind: 'entries';
  readonly column: number;
  readonly lookUp: IndexLookUp;
  readonly ranges: readonly EntryRange[];
  readonly nulls: boolean;
  readonly isExact: boolean;
}

/** Rows, as positions: in order, each once. */
export interface PositionHits {
  readonly kind: 'positions';
  readonly positions: Uint32Array;
  readonly isExact: boolean;
}

export type Hits = EntryHits | PositionHits;

/** To look up a value takes some hundredths of a millisecond, and a filter may have a thousand. */
const LOOK_UPS_IN_A_TURN = 50;

/** The most positions that one answer takes out of indexes: 64 blocks, some milliseconds. */
export const POSITIONS_MAX = 16_384;

const NONE: PositionHits = { kind: 'positions', positions: new Uint32Array(0), isExact: true };

/** @returns undefined where the indexes cannot tell @throws IndexDamaged; the file system's error */
export async function findRows(search: Search, lookUps: LookUps): Promise<Hits | undefined> {
  switch (search.kind) {
    case 'anything':
      return undefined;
    case 'nothing':
      return NONE;
    case 'column':
      return await findInColumn(search, lookUps);
    case 'and':
    case 'or': {
      const found = await allInTurns(search.operands, (operand) => findRows(operand, lookUps), LOOK_UPS_IN_A_TURN);
      return search.kind === 'and' ? await allOf(found) : await anyOf(found);
    }
    default:
      return search satisfies never;
  }
}

/** The number of rows found. */
export function countHits(hits: Hits): number {
  if (hits.kind === 'positions') return hits.positions.length;
  return countOf(hits.ranges) + (hits.nulls ? nullCountOf(hits.lookUp) : 0);
}

/** The positions of the rows found, in order. */
export async function positionsOf(hits: Hits): Promise<Uint32Array> {
  if (hits.kind === 'positions') return hits.positions;
  const { lookUp, ranges, nulls } = hits;
  const lists = await Promise.all(ranges.map((range) => lookUp.positions(range)));
  if (nulls) lists.push(await lookUp.nulls({ from: 0, to: nullCountOf(lookUp) }));
  return unitePositions(lists);
}

export function nullCountOf({ table }: IndexLookUp): number {
  return table.rowCount - table.valueCount;
}

async function findInColumn(search: ColumnSearch, lookUps: LookUps): Promise<Hits | undefined> {
  const { column, isOutside, nulls, isExact } = search;
  const lookUp = lookUps.get(column.index);
  if (lookUp === undefined) return undefined;
  const inside = normalize(await allInTurns(search.ranges, (range) => entriesOf(range, lookUp), LOOK_UPS_IN_A_TURN));
  const ranges = isOutside ? complement(inside, lookUp.table.valueCount) : inside;
  return { kind: 'entries', column: column.index, lookUp, ranges, nulls, isExact };
}

async function entriesOf({ from, to }: KeyRange, lookUp: IndexLookUp): Promise<EntryRange> {
  return {
    from: from === undefined ? 0 : await lookUp.countBelow(from.key, !from.isIncluded),
    to: to === undefined ? lookUp.table.valueCount : await lookUp.countBelow(to.key, to.isIncluded),
  };
}

/**
 * The rows that match all searches, or more rows, to be checked: starts from the smallest set and removes rows that another set
 * is known to exclude.
 */
async function allOf(found: readonly (Hits | undefined)[]): Promise<Hits | undefined> {
  const known = found.filter((hits) => hits !== undefined);
  const isWhole = known.length === found.length;
  const [smallest, ...others] = byColumn(known, (all) => ({
    ranges: all.map(({ ranges }) => ranges).reduce(intersect),
    nulls: all.every(({ nulls }) => nulls),
  })).toSorted((a, b) => countHits(a) - countHits(b));
  if (smallest === undefined) return undefined;
  if (others.length === 0 || countHits(smallest) > POSITIONS_MAX) {
    return { ...smallest, isExact: smallest.isExact && isWhole && others.length === 0 };
  }
  let positions = await positionsOf(smallest);
  let isExact = smallest.isExact && isWhole;
  for (const other of others) {
    const kept = await keepOnly(positions, other);
    isExact &&= other.isExact && kept !== undefined;
    positions = kept ?? positions;
  }
  return { kind: 'positions', positions, isExact };
}

/** The rows that match any of the searches; undefined where they are too many to unite. */
async function anyOf(found: readonly (Hits | undefined)[]): Promise<Hits | undefined> {
  const known = found.filter((hits) => hits !== undefined);
  if (known.length < found.length) return undefined;
  const hits = byColumn(known, (all) => ({
    ranges: normalize(all.flatMap(({ ranges }) => ranges)),
    nulls: all.some(({ nulls }) => nulls),
  }));
  const [only] = hits;
  if (hits.length <= 1) return only;
  if (hits.reduce((sum, one) => sum + countHits(one), 0) > POSITIONS_MAX) return undefined;
  const lists: Uint32Array[] = [];
  for (const one of hits) lists.push(await positionsOf(one));
  return { kind: 'positions', positions: unitePositions(lists), isExact: hits.every((one) => one.isExact) };
}

/** Joins the hits that are entries of the same index into one. @param join of at least one */
function byColumn(
  found: readonly Hits[],
  join: (all: readonly EntryHits[]) => Pick<EntryHits, 'ranges' | 'nulls'>,
): readonly Hits[] {
  const others = found.filter((hits) => hits.kind === 'positions');
  const byEntries = Map.groupBy(
    found.filter((hits) => hits.kind === 'entries'),
    ({ column }) => column,
  );
  const joined = [...byEntries.values()].flatMap((all) => {
    const [first] = all;
    return first === undefined ? [] : [{ ...first, ...join(all), isExact: all.every(({ isExact }) => isExact) }];
  });
  return [...joined, ...others];
}

/** Those of the positions (ascending) that are among the hits; undefined where the index cannot tell. */
export async function keepOnly(positions: Uint32Array, hits: Hits): Promise<Uint32Array | undefined> {
  if (hits.kind === 'positions') return intersectPositions(positions, hits.positions);
  const { lookUp, ranges, nulls } = hits;
  if (lookUp.table.rankBlocks.length === 0) return undefined;
  const ranks = await lookUp.ranks(positions);
  return positions.filter((_, index) => {
    const rank = ranks[index] ?? NO_RANK;
    return rank === NO_RANK ? nulls : includes(ranges, rank);
  });
}
