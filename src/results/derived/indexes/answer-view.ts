/**
 * Asks indexes for a slice of a view. They may know its rows, or rows among which these are, or only how many there are. The
 * answer `none` always means that all rows have to be searched.
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
  /** The positions of the slice's rows, in the view's order, and the number of rows in the view. */
  | { readonly kind: 'rows'; readonly positions: Uint32Array; readonly rowCount: number }
  /** Positions, ascending, among which all rows of the view are. DuckDB has to check or sort them. */
  | { readonly kind: 'candidates'; readonly positions: Uint32Array }
  /** `rowCount` of the view, where it is known. */
  | { readonly kind: 'none'; readonly rowCount: number | undefined; readonly why: string };

export interface WantedPlaces {
  readonly offset: number;
  readonly rowCountMax: number;
}

/** For more rows than this, searching all is faster. */
const FOUND_ROWS_MAX = 1000;

/**
 * To find the first matches in an order, at most this many rows of the order are walked: the rank of each is looked up in
 * another place.
 */
const WALKED_ROWS_MAX = 2048;
/**
 * A request for later rows of a view with more than this many is a walk. Each of its pages would read rows that lie far apart.
 * By the end of the walk, that takes longer than writing them all into a view once.
 */
const WALK_ROWS_MAX = 10_000;
const ALL = { kind: 'all' } as const;

/** The search that indexes would have to answer for a view. */
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

/** All rows in the order of one column, by its index; undefined for any other order. */
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
    // Cut keys hold only the beginning of a value, so they do not tell its order.
    return hits.lookUp.table.hasCutKeys ? undefined : await atPlaces(hits, key, { from, to });
  }
  const few = countHits(hits) <= POSITIONS_MAX ? await inOrder(await positionsOf(hits), sortKeys, lookUps) : undefined;
  return few?.subarray(from, to) ?? (await firstInOrder(hits, { rows: ALL, sortKeys }, lookUps, { from, to }));
}

/** For the first rows in an order out of many that match: walks all rows in that order until enough of them match. */
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
    // So many are needed if the matches are spread evenly, and a few more.
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
