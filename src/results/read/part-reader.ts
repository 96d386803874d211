/**
 * Reads encoded rows out of parts: stored ones, or those of a materialised view. A read goes range by range, some of them
 * side by side, none of them far ahead of what has been taken, so memory is bounded however large the answer and however
 * slow the client.
 */
import type { RowRange } from '../../domain/blocks.ts';
import { allRowsOf, type Part, ROW_GROUP_ROWS } from '../../domain/result-set.ts';
import type { Sleep } from '../../domain/time.ts';
import type { DuckDb, Row } from '../../duckdb/duckdb.ts';
import { rowOrderOf } from '../../duckdb/row-order.ts';
import type { Statement } from '../../duckdb/statement.ts';
import { ObjectDamaged, type OpenObject } from '../../store/result-store.ts';
import { FEW_COLUMNS_MAX } from '../compile/many-columns.ts';
import { compileFit, compileRange, type ReadMode } from '../compile/range.ts';
import { ROW_SEPARATOR, type RowEncoding } from '../compile/row-encoding.ts';
import {
  compilePositions,
  compileSlice,
  compileSliceAmong,
  compileSliceAt,
  compileViewSlice,
  type ViewSlice,
} from '../compile/view.ts';
import type { RowsOf } from '../derived/row-files/row-files.ts';
import { withinMillis } from '../limits/time-limit.ts';
import type { Turns } from '../limits/work-queue.ts';
import type { View } from '../plan/view.ts';
import { damaged, readFailure } from '../read-failure.ts';
import type { TextFormat } from '../request/format.ts';
import type { ByteChunks } from './byte-chunks.ts';
import { locate } from './locate.ts';
import { readAhead } from './read-ahead.ts';

export interface PartReaderDeps {
  /** Reads out of many parts at once: with all threads. */
  readonly scanner: DuckDb;
  /** Makes a part's file available for reading these rows, counted within it. */
  readonly open: (part: Part, rows: RowRange, signal: AbortSignal) => Promise<OpenObject>;
  /** Rows that have been encoded before; undefined where none are. */
  readonly rows: RowsOf | undefined;
  /** Reads ranges: one thread, so that rows keep their order and many reads at a time do not get in each other's way. */
  readonly rangeReader: DuckDb;
  /** How many ranges of one answer are read side by side. */
  readonly rangesAtOnce: number;
  /** Whose read it is: keys take turns. */
  readonly keyId: string;
  /** Where pages take turns: more at a time than there are cores would only make all of them slower. */
  readonly pageTurns: Turns;
  /** Where searches of many rows take turns: each takes all threads, and a thread of the pool that files are read on. */
  readonly searches: Turns;
  /** Where long reads take turns, one range at a time. */
  readonly exports: Turns;
  /** The longest that one statement may take. */
  readonly statementMillisMax: number;
  /** Milliseconds that only ever grow. */
  readonly monotonic: () => number;
  readonly sleep: Sleep;
}

export interface ChunkSize {
  /** Of a chunk never 0. */
  readonly rowCount: number;
  readonly cellBytes: number;
}

export interface Chunk extends ChunkSize {
  /** Encoded rows with separators between them, none at either end. Of rows that were skipped there are none. */
  readonly byteChunks: ByteChunks;
}

export interface PartRange extends RowRange {
  readonly part: Part;
}

/** A row group: several of them, side by side, make a page. */
export const PAGE_RANGE_ROWS = ROW_GROUP_ROWS;
/** Two row groups take a tenth less time than one by one: whoever reads everything has no need of the first rows sooner. */
export const EXPORT_RANGE_ROWS = 2 * ROW_GROUP_ROWS;
const SPLIT_BESIDE_PAGES = 4;
const RANGE_BYTES_AIM = 8 * 1024 * 1024;
/** A cell without a value takes no bytes where it is stored, but has its place, and its name, in an answer. */
const RANGE_CELLS_AIM = 1024 * 1024;
/** Up to so many rows the safe mode is the faster one: there is less to plan. */
const SAFE_ROWS_MAX = 1000;
/** So few rows of a sort are found by their keys first, among so many that these do not lie in the same row groups anyway. */
const FOUND_ROWS_MAX = 1000;
const FOUND_AMONG_ROWS_MIN = 8 * ROW_GROUP_ROWS;

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

export class PartReader {
  readonly #encoding: RowEncoding;
  readonly #deps: PartReaderDeps;
  /** For ranges of more than a few rows. */
  #mode: ReadMode = 'fast';

  constructor(encoding: RowEncoding, deps: PartReaderDeps) {
    this.#encoding = encoding;
    this.#deps = deps;
  }

  /** Where a page that starts at row `from` must end to have at most `cellBytesMax`: at most `to`, at least one row on. */
  async fit(
    parts: readonly Part[],
    from: number,
    to: number,
    cellBytesMax: number,
    signal: AbortSignal,
  ): Promise<number> {
    const touched = parts.filter((part) => part.firstRow < to && part.firstRow + part.rowCount > from);
    // Nearly always: even if each row were as wide as the widest they would fit, and nothing needs to be measured.
    if ((to - from) * widestRowOf(touched) <= cellBytesMax) return to;
    let left = cellBytesMax;
    for (const part of touched) {
      const first = Math.max(0, from - part.firstRow);
      const last = Math.min(part.rowCount, to - part.firstRow);
      const { rowCount, cellBytes } = await this.#fitRange({ part, from: first, to: last }, left, signal);
      if (rowCount < last - first) return Math.max(from + 1, part.firstRow + first + rowCount);
      left -= cellBytes;
    }
    return to;
  }

  /** How many of the first rows of the range fit, and the cell bytes of the range if all do. */
  async #fitRange(range: PartRange, cellBytesMax: number, signal: AbortSignal): Promise<ChunkSize> {
    const { columns } = this.#encoding;
    const { pageTurns, keyId, rows } = this.#deps;
    const fitting = await rows?.fit(range.part, range, columns, cellBytesMax, signal);
    if (fitting !== undefined) return fitting;
    const statement = ([path = '']: readonly string[]) => compileFit(columns, { ...range, path }, cellBytesMax);
    const [row] = await pageTurns.run(keyId, () => this.#read([range], statement, signal), signal);
    return { rowCount: Number(row?.[0] ?? 0), cellBytes: Number(row?.[1] ?? 0) };
  }

  /**
   * @param takeTurns the read is long: each range waits for its turn among other long reads
   * @param skipped sizes of the first ranges, which are not to be read: they come without bytes
   */
  async *ranges(
    ranges: readonly PartRange[],
    takeTurns: boolean,
    signal: AbortSignal,
    skipped: readonly ChunkSize[] = [],
  ): AsyncGenerator<Chunk> {
    for (const size of skipped.slice(0, ranges.length)) yield { ...size, byteChunks: [] };
    const { rows, exports, pageTurns, keyId, rangesAtOnce, monotonic, sleep } = this.#deps;
    const read = async (range: PartRange, during: AbortSignal): Promise<Chunk> => {
      const encoded = await rows?.read(range.part, range, this.#encoding, during);
      if (encoded !== undefined) return encoded;
      if (!takeTurns) return await pageTurns.run(keyId, () => this.#range(range, during), during);
      // While pages are read, a range is read in smaller ones, and after each comes a pause as long as the read took.
      const steps = pageTurns.running > 0 ? splitRange(range, SPLIT_BESIDE_PAGES) : [range];
      const chunks: Chunk[] = [];
      for (const step of steps) {
        const inTurn = async () => {
          const start = monotonic();
          chunks.push(await this.#range(step, during));
          if (pageTurns.running > 0) await sleep(monotonic() - start, during);
        };
        await exports.run(keyId, inTurn, during);
      }
      return joinChunks(chunks, this.#encoding.format);
    };
    yield* readAhead(ranges.slice(skipped.length), rangesAtOnce - 1, read, signal);
  }

  async #range({ part, from, to }: PartRange, signal: AbortSignal): Promise<Chunk> {
    const readIn = async (mode: ReadMode) => {
      const statement = ([path = '']: readonly string[]) => compileRange(this.#encoding, { path, from, to }, mode);
      const [row] = await this.#read([{ part, from, to }], statement, signal, this.#deps.rangeReader);
      return row ?? [];
    };
    const small = to - from <= SAFE_ROWS_MAX || this.#encoding.columns.length > FEW_COLUMNS_MAX;
    let row = await readIn(small ? 'safe' : this.#mode);
    if (row[3] !== true) {
      // The other ranges are probably like this one.
      this.#mode = 'safe';
      row = await readIn('safe');
    }
    const [bytes, rowCount, cellBytes] = row;
    // The manifest says how many rows are there; fewer would be an answer that is silently short.
    if (!(bytes instanceof Uint8Array) || Number(rowCount) !== to - from) {
      throw damaged(new ObjectDamaged(part.key, `${Number(rowCount ?? 0)} rows where ${to - from} are stored`));
    }
    return { byteChunks: [bytes], rowCount: to - from, cellBytes: Number(cellBytes) };
  }

  /** One slice of a view, read directly; `more` when rows follow it. */
  async viewSlice(
    parts: readonly Part[],
    view: View,
    slice: ViewSlice,
    signal: AbortSignal,
  ): Promise<{ readonly chunk: Chunk | undefined; readonly more: boolean }> {
    if (parts.length === 0) return { chunk: undefined, more: false };
    // As above: the running sum is only needed where the widest rows might not fit.
    const fits = slice.cellBytesMax === undefined || slice.rowCountMax * widestRowOf(parts) <= slice.cellBytesMax;
    const wanted = { ...slice, cellBytesMax: fits ? undefined : slice.cellBytesMax };
    const search = () =>
      isFoundFirst(parts, view, slice)
        ? this.#foundFirst(parts, view, wanted, signal)
        : this.#scanned(parts, view, wanted, signal);
    const { searches, keyId } = this.#deps;
    return chunkOf(await searches.run(keyId, search, signal));
  }

  /**
   * As `viewSlice`, of a view all whose rows are at these positions of the result, in order, perhaps among others.
   * @param positions at least one
   */
  async sliceAmong(
    parts: readonly Part[],
    view: View,
    slice: ViewSlice,
    positions: Uint32Array,
    signal: AbortSignal,
  ): Promise<{ readonly chunk: Chunk | undefined; readonly more: boolean }> {
    const located = locate(parts, positions);
    const among = located.flatMap(({ rows }, part) => rows.map((row) => ({ part, row: BigInt(row) })));
    const ranges = located.map(({ part, rows }) => ({ part, from: rows[0] ?? 0, to: (rows.at(-1) ?? 0) + 1 }));
    const statement = (paths: readonly string[]) => compileSliceAmong(this.#encoding, paths, view, slice, among);
    const { searches, keyId } = this.#deps;
    const [row] = await searches.run(keyId, () => this.#read(ranges, statement, signal), signal);
    return chunkOf(row ?? []);
  }

  async #scanned(parts: readonly Part[], view: View, slice: ViewSlice, signal: AbortSignal): Promise<Row> {
    const statement = async (paths: readonly string[], within: AbortSignal) => {
      // Of a draw all rows are taken, so none has to be the first.
      const isCut = view.sortKeys.length === 0 && view.rows.kind === 'matching';
      const slicing = compileSlice(this.#encoding.columns, paths, view, slice);
      const order = isCut ? await rowOrderOf(this.#deps.scanner, slicing, within) : 'kept';
      return compileViewSlice(this.#encoding, paths, view, slice, order);
    };
    const [row] = await this.#read(parts.map(wholePart), statement, signal);
    return row ?? [];
  }

  /** As `#scanned`: only what the order depends on is read of all rows, and the rest where the rows turn out to be. */
  async #foundFirst(parts: readonly Part[], view: View, slice: ViewSlice, signal: AbortSignal): Promise<Row> {
    const search = (paths: readonly string[]) => compilePositions(paths, view, slice);
    const found = await this.#read(parts.map(wholePart), search, signal);
    // The one row more only says that others follow.
    const positions = found
      .slice(0, slice.rowCountMax)
      .map(([part, row]) => ({ part: Number(part), row: row as bigint }));
    if (positions.length === 0) return [null, 0, 0, found.length];
    const statement = (paths: readonly string[]) => compileSliceAt(this.#encoding, paths, view, slice, positions);
    const [row] = await this.#read(parts.map(wholePart), statement, signal);
    const [bytes, rowCount, cellBytes, read] = row ?? [];
    if (Number(read) !== positions.length) {
      throw new Error(`${Number(read)} rows were read where ${positions.length} had been found`);
    }
    return [bytes ?? null, rowCount ?? 0, cellBytes ?? 0, found.length];
  }

  async #read(
    ranges: readonly PartRange[],
    compile: (paths: readonly string[], signal: AbortSignal) => Statement | Promise<Statement>,
    signal: AbortSignal,
    duckDb = this.#deps.scanner,
  ): Promise<readonly Row[]> {
    const { open, statementMillisMax: millisMax, sleep } = this.#deps;
    return await withinMillis({ millisMax, duckDb, sleep }, signal, async (within) => {
      await using objects = new AsyncDisposableStack();
      try {
        const paths: string[] = [];
        for (const { part, ...rows } of ranges) paths.push(objects.use(await open(part, rows, within)).path);
        return await duckDb.query(await compile(paths, within), within);
      } catch (error) {
        throw readFailure(error);
      }
    });
  }
}

/** What `compileViewSlice` and its like answer with. */
function chunkOf([bytes, rowCount, cellBytes, found]: Row): {
  readonly chunk: Chunk | undefined;
  readonly more: boolean;
} {
  const chunk =
    bytes instanceof Uint8Array
      ? { byteChunks: [bytes], rowCount: Number(rowCount), cellBytes: Number(cellBytes) }
      : undefined;
  return { chunk, more: Number(found) > Number(rowCount) };
}

/** Whether a slice costs less found first and read then: it is small, and not in few row groups anyway. */
function isFoundFirst(parts: readonly Part[], { sortKeys }: View, { rowCountMax }: ViewSlice): boolean {
  if (sortKeys.length === 0 || rowCountMax > FOUND_ROWS_MAX) return false;
  return parts.reduce((sum, part) => sum + part.rowCount, 0) > FOUND_AMONG_ROWS_MIN;
}

/** The range cut into `count` ranges of about the same size, or fewer if it has fewer rows. */
function splitRange(range: PartRange, count: number): readonly PartRange[] {
  const cutAt = (index: number) => range.from + Math.round(((range.to - range.from) * index) / count);
  const ranges = Array.from({ length: count }, (_, index) => ({
    ...range,
    from: cutAt(index),
    to: cutAt(index + 1),
  }));
  return ranges.filter(({ from, to }) => from < to);
}

function joinChunks(chunks: readonly Chunk[], format: TextFormat): Chunk {
  const separator = Buffer.from(ROW_SEPARATOR[format]);
  return {
    byteChunks: chunks.flatMap(({ byteChunks }, index) => (index === 0 ? byteChunks : [separator, ...byteChunks])),
    rowCount: chunks.reduce((sum, chunk) => sum + chunk.rowCount, 0),
    cellBytes: chunks.reduce((sum, chunk) => sum + chunk.cellBytes, 0),
  };
}

function wholePart(part: Part): PartRange {
  return { part, ...allRowsOf(part) };
}

function widestRowOf(parts: readonly Part[]): number {
  return parts.reduce((max, part) => Math.max(max, part.rowBytesMax), 0);
}
