/**
 * A result set: the whole stored answer of one execution, as its manifest describes it. Immutable once committed.
 */
import type { Blocks, RowRange } from './blocks.ts';
import type { ColumnType } from './column-type.ts';

export interface Column {
  /** The name as the producer gave it: any text, unique within the result set. */
  readonly name: string;
  readonly type: ColumnType;
}

export interface ResultSet {
  readonly columns: readonly Column[];
  readonly rowCount: number;
  /** Cell bytes of the whole, in the measure of contract §2 (see `cell-bytes` in duckdb/). */
  readonly cellBytes: number;
  /** The stored rows were cut at the maximum stored size. */
  readonly truncated: boolean;
  /** In row order, none of them empty: no rows, no parts. Row k of the result set is row k − firstRow of its part. */
  readonly parts: readonly Part[];
  /** Rows drawn at random when the result was published, each subset equally likely; only large results have it. */
  readonly preSample?: Part;
}

/** A stored object, and how many rows its blocks are counted in. */
export type NeededObject = Pick<Part, 'key' | 'objectBytes' | 'sha256' | 'blocks' | 'rowCount'>;

/** Every stored object of a result set. */
export function objectsOf({ parts, preSample }: ResultSet): readonly NeededObject[] {
  const filters = parts.flatMap(({ bloomFilters }) => {
    return bloomFilters === undefined ? [] : [{ ...bloomFilters, rowCount: bloomFilters.columns.length }];
  });
  return [...parts, ...(preSample === undefined ? [] : [preSample]), ...filters];
}

/** All rows of an object. */
export function allRowsOf({ rowCount }: Pick<Part, 'rowCount'>): RowRange {
  return { from: 0, to: rowCount };
}

/** Cell bytes of the widest row of these parts. */
export function widestRowOf(parts: readonly Pick<Part, 'rowBytesMax'>[]): number {
  return parts.reduce((max, { rowBytesMax }) => Math.max(max, rowBytesMax), 0);
}

/** One immutable Parquet object. Its columns are called c0, c1, … in the order of `ResultSet.columns`. */
export interface Part {
  readonly key: string;
  /** Position in the result set of the part's first row. */
  readonly firstRow: number;
  readonly rowCount: number;
  readonly cellBytes: number;
  /** Cell bytes of the widest row: lets a page be known to fit without measuring each row. */
  readonly rowBytesMax: number;
  readonly objectBytes: number;
  /** Of the whole object; lower-case hex. */
  readonly sha256: string;
  /** Those published before there were any have none. */
  readonly blocks?: Blocks;
  /** Only parts that take long to search have any. */
  readonly bloomFilters?: BloomFilters;
}

/**
 * An immutable object beside a part: for some of its columns a Bloom filter of all values (`bloom-filter.ts`), so that a part without a value
 * is not searched for it. Nothing but time is lost without it.
 */
export interface BloomFilters {
  readonly key: string;
  readonly objectBytes: number;
  readonly sha256: string;
  /** A block for the filter of each column, as if it were a row group of one row, and one for the mark behind them. */
  readonly blocks: Blocks;
  /** Positions of the columns, in the order of their blocks. */
  readonly columns: readonly number[];
  /** What told, when they were made, which hashes DuckDB makes (`value-hash.ts`). Where it tells otherwise, the filters say nothing. */
  readonly probe: string;
}

/**
 * How rows are laid out in parts, of results and of views: a page decompresses whole row groups, and costs 30 to 45 µs for each row
 * group of the file that it reads from. About a million rows a part: 61 × 16,384 = 999,424.
 */
export const ROW_GROUP_ROWS = 16_384;
export const ROW_GROUPS_PER_PART = 61;
/**
 * Of views, which are local files: a range of such a part takes 1.5 ms less than one of a part with 61 row groups, and its row file is there
 * after a quarter of the time.
 */
export const VIEW_PART_ROWS = 16 * ROW_GROUP_ROWS;
/** DuckDB writes no smaller row groups; all but the last have a multiple of it. */
export const ROW_GROUP_ROWS_MIN = 2048;

/** DuckDB holds a row group in memory while it writes it: of wide rows there are fewer in one. */
const ROW_GROUP_CELLS_MAX = 640 * ROW_GROUP_ROWS;

/** Rows of the row groups of a table of so many columns: `rowsMax`, or fewer where it is wide. */
export function rowGroupRowsOf(columnCount: number, rowsMax: number): number {
  const fitting = ROW_GROUP_CELLS_MAX / Math.max(1, columnCount);
  return Math.min(rowsMax, Math.max(ROW_GROUP_ROWS_MIN, fitting - (fitting % ROW_GROUP_ROWS_MIN)));
}

/** Rows of the row groups of a file made from the parts: fewer than `rowsMax` where they are wide, to take about `bytesAim` cell bytes. */
export function rowGroupRowsFor(parts: readonly Part[], rowsMax: number, bytesAim: number): number {
  const rowBytes = parts.reduce((max, part) => Math.max(max, part.cellBytes / Math.max(1, part.rowCount)), 1);
  const fitting = bytesAim / rowBytes;
  return Math.max(ROW_GROUP_ROWS_MIN, Math.min(rowsMax, fitting - (fitting % ROW_GROUP_ROWS_MIN)));
}
