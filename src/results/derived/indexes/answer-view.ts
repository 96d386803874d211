/**
 * What indexes know of a slice of a view: its rows, or rows among which they are, or how many there are. Whatever it is asked, `none`
 * means that the rows have to be searched.
 */
import type { View } from '../../plan/view.ts';
import {
  countHits,
  type EntryHits,
  findRows,
  type Hits,
  keepOnly,
  type LookUps,
  POSITIONS_MAX,
  positionsOf,
} from './find-rows.ts';
import { type Search, searchOf } from './search.ts';
import { atPlaces, inOrder } from './sorted-rows.ts';

export type IndexAnswer =
  /** The rows of the slice by their positions, in the order of the view; and how many rows the view has. */
  | { readonly kind: 'rows'; readonly positions: Uint32Array; readonly rowCount: number }
  /** Positions of rows, in their order, among which all rows of the view are: these have to be checked, or put in order. */
  | { readonly kind: 'candidates'; readonly positions: Uint32Array }
  /** `rowCount` of the view, where it is known. */
  | { readonly kind: 'none'; readonly rowCount: number | undefined; readonly why: string };

export interface WantedPlaces {
  readonly offset: number;
  readonly rowCountMax: number;
}

/** More rows are read faster by a search of all. */
export const FOUND_ROWS_MAX = 1000;

/** So many rows of an order are walked to find the first ones of a filter: their ranks are read, each somewhere else. */
const WALKED_ROWS_MAX = 2048;
/**
 * Who asks for rows behind the first of more than this is walking: each page would read rows that lie apart, which by the end has taken
 * longer than to put all of them together once, in a view.
 */
const WALK_ROWS_MAX = 10_000;
const ALL = { kind: 'all' } as const;

/** What indexes can be asked about a view. */
export function searchOfView({ rows }: View): Search {
  return rows.kind === 'matching' ? searchOf(rows.predicate) : { kind: 'anything' };
}

/** @throws IndexDamaged; the filesystem's error */
export async function answerView(
  view: View,
  search: Search,
  lookUps: LookUps,
  { offset, rowCountMax }: WantedPlaces,
): Promise<IndexAnswer> {
  const hits = view.rows.kind === 'all' ? allRows(view, lookUps) : await findRows(search, lookUps);
  if (hits === undefined) return none('no index tells');
  const count = countHits(hits);
  if (!hits.isExact) {
    if (count > FOUND_ROWS_MAX) return none(`${count} rows would have to be checked`);
    return { kind: 'candidates', positions: await positionsOf(hits) };
  }
  const from = Math.min(offset, count);
  const to = Math.min(count, from + rowCountMax);
  if (from > 0 && count > WALK_ROWS_MAX) return none(`a walk through ${count} rows`, count);
  if (to - from > FOUND_ROWS_MAX) return none(`${to - from} rows are many`, count);
  const sliced = await sliceOf(hits, view, lookUps, { from, to });
  if (sliced !== undefined) return { kind: 'rows', positions: sliced, rowCount: count };
  if (count > FOUND_ROWS_MAX) return none(`${count} rows would have to be put in order`, count);
  return { kind: 'candidates', positions: await positionsOf(hits) };
}

function none(why: string, rowCount?: number): IndexAnswer {
  return { kind: 'none', rowCount, why };
}

/** All rows, by the index of the only column that they are sorted by. */
function allRows({ sortKeys }: View, lookUps: LookUps): EntryHits | undefined {
  const [key] = sortKeys;
  const lookUp = key && lookUps.get(key.columnIndex);
  if (key === undefined || lookUp === undefined || sortKeys.length > 1) return undefined;
  const ranges = [{ from: 0, to: lookUp.table.valueCount }];
  return { kind: 'entries', column: key.columnIndex, lookUp, ranges, nulls: true, isExact: true };
}

async function sliceOf(
  hits: Hits,
  { sortKeys }: View,
  lookUps: LookUps,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Uint32Array | undefined> {
  if (from === to) return new Uint32Array(0);
  const [key] = sortKeys;
  if (hits.kind === 'entries' && sortKeys.length === 1 && key?.columnIndex === hits.column) {
    // Of values of which only the beginning is known the order is not.
    return hits.lookUp.table.hasCutKeys ? undefined : await atPlaces(hits, key, { from, to });
  }
  const few = countHits(hits) <= POSITIONS_MAX ? await inOrder(await positionsOf(hits), sortKeys, lookUps) : undefined;
  return few?.subarray(from, to) ?? (await firstInOrder(hits, { rows: ALL, sortKeys }, lookUps, { from, to }));
}

/** Many rows were found, and of them the first of an order are wanted: these come early among all rows in that order, which are walked. */
async function firstInOrder(
  hits: Hits,
  view: View,
  lookUps: LookUps,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Uint32Array | undefined> {
  const [key] = view.sortKeys;
  const order = allRows(view, lookUps);
  if (key === undefined || order === undefined || order.lookUp.table.hasCutKeys) return undefined;
  const total = countHits(order);
  const found: number[] = [];
  for (let place = 0; found.length < to; ) {
    // If they lie anywhere in the order, and a little more.
    const likely = Math.ceil((1.1 * (to - found.length) * total) / countHits(hits)) + 16;
    const end = Math.min(total, place + likely);
    if (end > WALKED_ROWS_MAX || end === place) return undefined;
    const positions = await atPlaces(order, key, { from: place, to: end });
    const kept = await keepOnly(positions.toSorted(), hits);
    if (kept === undefined) return undefined;
    const wanted = new Set(kept);
    for (const position of positions) if (wanted.has(position)) found.push(position);
    place = end;
  }
  return Uint32Array.from(found.slice(from, to));
}
