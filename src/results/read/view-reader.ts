/** Reads small slices of a view directly from the parts: searches all rows, or only those that an index has found. */
import { type Part, ROW_GROUP_ROWS, widestRowOf } from '../../domain/result-set.ts';
import { sumOf } from '../../domain/sum-of.ts';
import { rowOrderOf } from '../../duckdb/row-order.ts';
import { estimatedBytes, type RowEncoding } from '../compile/row-encoding.ts';
import {
  compileCount,
  compilePositions,
  compileSlice,
  compileSliceAmong,
  compileSliceAt,
  compileViewSlice,
  type ViewSlice,
} from '../compile/view.ts';
import type { View } from '../plan/view.ts';
import type { Chunk } from './chunk.ts';
import { locate } from './locate.ts';
import { cellBytesMaxOf, type PartRange, wholePart } from './part-ranges.ts';
import { type CompileFor, type EncodedRows, type PartReaderDeps, readEncoded, readParts } from './read-parts.ts';

export interface ReadSlice {
  readonly chunk: Chunk | undefined;
  /** Whether more rows follow. */
  readonly more: boolean;
}

/**
 * A sort of up to so many rows, among at least so many, first finds their positions by the sort keys alone, then reads the rest of the
 * columns there. Among fewer rows, the positions would lie in all row groups anyway.
 */
const FOUND_ROWS_MAX = 1000;
const FOUND_AMONG_ROWS_MIN = 8 * ROW_GROUP_ROWS;

export class ViewReader {
  readonly #encoding: RowEncoding;
  readonly #deps: PartReaderDeps;

  constructor(encoding: RowEncoding, deps: PartReaderDeps) {
    this.#encoding = encoding;
    this.#deps = deps;
  }

  /** One slice of a view. */
  async slice(parts: readonly Part[], view: View, slice: ViewSlice, signal: AbortSignal): Promise<ReadSlice> {
    if (parts.length === 0) return { chunk: undefined, more: false };
    // As for ranges: a running sum of cell bytes is needed only where the widest rows might not fit.
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
   * As `slice`, when all rows of the view are known to be among these positions of the result.
   * @param positions ascending, at least one
   */
  async among(
    parts: readonly Part[],
    view: View,
    slice: ViewSlice,
    positions: Uint32Array,
    signal: AbortSignal,
  ): Promise<ReadSlice> {
    const located = locate(parts, positions);
    const among = located.flatMap(({ rows }, part) => rows.map((row) => ({ part, row: BigInt(row) })));
    const ranges = located.map(({ part, rows }) => ({ part, from: rows[0] ?? 0, to: (rows.at(-1) ?? 0) + 1 }));
    const compile = (paths: readonly string[]) => compileSliceAmong(this.#encoding, paths, view, slice, among);
    const { searches, keyId } = this.#deps;
    return chunkOf(await searches.run(keyId, () => this.#read(ranges, slice, compile, signal), signal));
  }

  /** How many rows the view has. */
  async count(parts: readonly Part[], view: View, signal: AbortSignal): Promise<number> {
    if (parts.length === 0) return 0;
    const { searches, keyId, scanner } = this.#deps;
    const statement = (paths: readonly string[]) => compileCount(paths, view);
    const count = () => readParts(this.#deps, scanner, parts.map(wholePart), statement, signal);
    const [row] = await searches.run(keyId, count, signal);
    return Number(row?.[0]);
  }

  async #scanned(parts: readonly Part[], view: View, slice: ViewSlice, signal: AbortSignal): Promise<EncodedRows> {
    const statement = async (paths: readonly string[], within: AbortSignal) => {
      // A sample takes all of its rows, so their order in the file does not matter.
      const isCut = view.sortKeys.length === 0 && view.rows.kind === 'matching';
      const slicing = compileSlice(this.#encoding.columns, paths, view, slice);
      const order = isCut ? await rowOrderOf(this.#deps.scanner, slicing, within) : 'kept';
      return compileViewSlice(this.#encoding, paths, view, slice, order);
    };
    return await this.#read(parts.map(wholePart), slice, statement, signal);
  }

  /** As `#scanned`, but reads only the sort keys of all rows, then the other columns of the rows that are wanted. */
  async #foundFirst(parts: readonly Part[], view: View, slice: ViewSlice, signal: AbortSignal): Promise<EncodedRows> {
    const search = (paths: readonly string[]) => compilePositions(paths, view, slice);
    const found = await readParts(this.#deps, this.#deps.scanner, parts.map(wholePart), search, signal);
    // One row more is found, to know whether others follow.
    const positions = found
      .slice(0, slice.rowCountMax)
      .map(([part, row]) => ({ part: Number(part), row: row as bigint }));
    if (positions.length === 0) return { byteChunks: [], rowCount: 0, cellBytes: 0, fourth: found.length };
    const statement = (paths: readonly string[]) => compileSliceAt(this.#encoding, paths, view, slice, positions);
    const read = await this.#read(parts.map(wholePart), slice, statement, signal);
    if (Number(read.fourth) !== positions.length) {
      throw new Error(`${Number(read.fourth)} rows were read where ${positions.length} had been found`);
    }
    return { ...read, fourth: found.length };
  }

  async #read(
    ranges: readonly PartRange[],
    { rowCountMax }: ViewSlice,
    compile: CompileFor,
    signal: AbortSignal,
  ): Promise<EncodedRows> {
    const cellBytesMax = cellBytesMaxOf(
      ranges.map(({ part }) => part),
      rowCountMax,
    );
    const bytesMax = estimatedBytes(this.#encoding.columns, rowCountMax, cellBytesMax);
    return await readEncoded(this.#deps, this.#deps.scanner, ranges, { compile, bytesMax }, signal);
  }
}

/** `fourth` is how many rows were found, of which one more than are wanted says that others follow. */
function chunkOf({ byteChunks, rowCount, cellBytes, fourth }: EncodedRows): ReadSlice {
  const chunk = byteChunks.length > 0 ? { byteChunks, rowCount, cellBytes } : undefined;
  return { chunk, more: Number(fourth) > rowCount };
}

/** Whether it costs less to find the rows first and read them afterwards. */
function isFoundFirst(parts: readonly Part[], { sortKeys }: View, { rowCountMax }: ViewSlice): boolean {
  if (sortKeys.length === 0 || rowCountMax > FOUND_ROWS_MAX) return false;
  return sumOf(parts, 'rowCount') > FOUND_AMONG_ROWS_MIN;
}
