/**
 * Reads encoded rows out of parts: stored ones, or those of a materialised view. A long read goes range by range, each
 * read when the one before has been taken, so memory is bounded however large the answer and however slow the client.
 */
import { DuckDBBlobValue } from '@duckdb/node-api';
import type { Part } from '../domain/result-set.ts';
import type { DuckDb, Row, Statement } from '../duckdb/duckdb.ts';
import { RequestError } from '../errors/errors.ts';
import { ObjectDamaged, type OpenObject } from '../store/result-store.ts';
import { compileFit, compileRange, type ProjectedColumn } from './compile.ts';
import { compileViewSlice, type View, type ViewSlice } from './compile-view.ts';
import type { TextFormat } from './format.ts';
import { withinMillis } from './time-limit.ts';
import type { WorkQueue } from './work-queue.ts';

export interface PartReaderDeps {
  readonly duckDb: DuckDb;
  /** Makes a part's file available for reading. */
  readonly open: (part: Part, signal: AbortSignal) => Promise<OpenObject>;
  /** Reads few rows: one thread, so that many at a time do not get in each other's way. */
  readonly pageDuckDb: DuckDb;
  /** Where pages take turns: more at a time than there are cores would only make all of them slower. */
  readonly pageTurns: WorkQueue;
  /** Where long reads take turns, one range at a time. */
  readonly exports: WorkQueue;
  /** The longest that one statement may take. */
  readonly statementMillisMax: number;
}

export interface ChunkSize {
  /** Never 0. */
  readonly rowCount: number;
  readonly cellBytes: number;
}

export interface Chunk extends ChunkSize {
  /** Encoded rows with separators between them, none at either end. */
  readonly bytes: Uint8Array;
}

export interface Range {
  readonly part: Part;
  /** Counted within the part; `to` is exclusive. */
  readonly from: number;
  readonly to: number;
}

const NO_BYTES = new Uint8Array(0);

/** So many rows are read sooner with one thread than with several: encoding them takes less than sharing them out. */
const FEW_ROWS = 2048;

/** Two row groups: large enough that the cost of a statement (about 3 ms) is small beside encoding (25 ms). */
const RANGE_ROWS_MAX = 32_768;
const RANGE_BYTES_AIM = 8 * 1024 * 1024;

/** Rows `from` to `to` (exclusive) of a result set, cut into ranges of a size that is good to read at once. */
export function rangesOf(parts: readonly Part[], from: number, to: number): readonly Range[] {
  const ranges: Range[] = [];
  for (const part of parts) {
    const end = Math.min(to - part.firstRow, part.rowCount);
    const rowBytes = Math.max(1, part.cellBytes / Math.max(1, part.rowCount));
    const rowsMax = Math.max(1, Math.min(RANGE_ROWS_MAX, Math.floor(RANGE_BYTES_AIM / rowBytes)));
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
  readonly #columns: readonly ProjectedColumn[];
  readonly #format: TextFormat;
  readonly #deps: PartReaderDeps;

  constructor(columns: readonly ProjectedColumn[], format: TextFormat, deps: PartReaderDeps) {
    this.#columns = columns;
    this.#format = format;
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
      const statement = ([path]: readonly string[]) => compileFit(this.#columns, path ?? '', first, last, left);
      const [row] = await this.#read([part], statement, signal);
      const fitting = Number(row?.[0] ?? 0);
      if (fitting < last - first) return Math.max(from + 1, part.firstRow + first + fitting);
      left -= Number(row?.[1] ?? 0);
    }
    return to;
  }

  /**
   * @param takeTurns the read is long: each range waits for its turn among other long reads
   * @param skipped sizes of the first ranges, which are not to be read: they come without bytes
   */
  async *ranges(
    ranges: readonly Range[],
    takeTurns: boolean,
    signal: AbortSignal,
    skipped: readonly ChunkSize[] = [],
  ): AsyncGenerator<Chunk> {
    for (const size of skipped.slice(0, ranges.length)) yield { ...size, bytes: NO_BYTES };
    for (const { part, from, to } of ranges.slice(skipped.length)) {
      const statement = ([path]: readonly string[]) => compileRange(this.#columns, this.#format, path ?? '', from, to);
      const { exports, pageTurns, duckDb, pageDuckDb } = this.#deps;
      const isFew = !takeTurns && to - from <= FEW_ROWS;
      const read = () => this.#read([part], statement, signal, isFew ? pageDuckDb : duckDb);
      const [row] = await (takeTurns ? exports : pageTurns).run(read, signal);
      const [bytes, rowCount, cellBytes] = row ?? [];
      // The manifest says how many rows are there; fewer would be an answer that is silently short.
      if (!(bytes instanceof DuckDBBlobValue) || Number(rowCount) !== to - from) {
        throw damaged(new ObjectDamaged(part.key, `${Number(rowCount ?? 0)} rows where ${to - from} are stored`));
      }
      yield { bytes: bytes.bytes, rowCount: to - from, cellBytes: Number(cellBytes) };
    }
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
    const statement = (paths: readonly string[]) => compileViewSlice(this.#columns, this.#format, paths, view, wanted);
    const [row] = await this.#read(parts, statement, signal);
    const [bytes, rowCount, cellBytes, found] = row ?? [];
    const chunk =
      bytes instanceof DuckDBBlobValue
        ? { bytes: bytes.bytes, rowCount: Number(rowCount), cellBytes: Number(cellBytes) }
        : undefined;
    return { chunk, more: Number(found) > Number(rowCount) };
  }

  async #read(
    parts: readonly Part[],
    compile: (paths: readonly string[]) => Statement,
    signal: AbortSignal,
    duckDb = this.#deps.duckDb,
  ): Promise<readonly Row[]> {
    const { open, statementMillisMax } = this.#deps;
    return await withinMillis(statementMillisMax, signal, async (within) => {
      await using objects = new AsyncDisposableStack();
      try {
        const paths: string[] = [];
        for (const part of parts) paths.push(objects.use(await open(part, within)).path);
        return await duckDb.query(compile(paths), within);
      } catch (error) {
        throw error instanceof ObjectDamaged ? damaged(error) : error;
      }
    });
  }
}

function widestRowOf(parts: readonly Part[]): number {
  return parts.reduce((max, part) => Math.max(max, part.rowBytesMax), 0);
}

/** What a reader is told of it. */
export function damaged(cause: ObjectDamaged): RequestError {
  const error = new RequestError(
    'result_damaged',
    'the stored result is damaged and cannot be read; run the query again',
  );
  error.cause = cause;
  return error;
}
