/**
 * Reads encoded rows out of parts: stored ones, or those of a materialised view. A read goes range by range, some of them
 * side by side, none of them far ahead of what has been taken, so memory is bounded however large the answer and however
 * slow the client.
 */
import type { RowRange } from '../../domain/blocks.ts';
import { type Part, widestRowOf } from '../../domain/result-set.ts';
import { type DuckDb, isOutOfMemory } from '../../duckdb/duckdb.ts';
import { FEW_COLUMNS_MAX } from '../../duckdb/few-columns.ts';
import { RequestError } from '../../errors/errors.ts';
import { ObjectDamaged } from '../../store/result-store.ts';
import { compileFit, compileRange, type ReadMode } from '../compile/range.ts';
import { estimatedBytes, type RowEncoding } from '../compile/row-encoding.ts';
import { readAbout, readRowTexts, requireNarrow } from '../derived/row-files/read-row-texts.ts';
import type { ReadRows } from '../derived/row-files/rows-of.ts';
import { readAhead } from '../limits/read-ahead.ts';
import { withinMillis } from '../limits/time-limit.ts';
import { damaged } from '../read-failure.ts';
import { type Chunk, type ChunkSize, joinChunks } from './chunk.ts';
import { isLongPage } from './page.ts';
import { cellBytesMaxOf, type PartRange, splitRange, withoutFirst } from './part-ranges.ts';
import { RangePrefetch } from './range-prefetch.ts';
import { type PartReaderDeps, readEncoded, readParts } from './read-parts.ts';

const SPLIT_BESIDE_PAGES = 4;
const NO_ROWS: ChunkSize = { rowCount: 0, cellBytes: 0 };
/** Up to so many rows the safe mode is the faster one: there is less to plan. */
const SAFE_ROWS_MAX = 1000;
/** So few rows are not cut further: if they take more memory than there is, the caller is told. */
const CUT_ROWS_MIN = 256;
const CUTS_MAX = 64;

interface WantedRange extends PartRange {
  /** For rows that were being read ahead and did not come: it counts towards the time limit of reading them here. */
  readonly waitedMillis: number;
}

export class PartReader {
  readonly #encoding: RowEncoding;
  readonly #deps: PartReaderDeps;
  /** For ranges of more than a few rows. */
  #mode: ReadMode = 'fast';
  /** In how many smaller ranges a range is read. */
  #cuts = 1;
  /** A few rows were too many for the DuckDB that reads ranges: they are read by the one with more memory, nothing beside them. */
  #isRoomy = false;
  #hasAskedDuckDb = false;
  /** What is read at this moment. */
  readonly #reading = new Set<Promise<Chunk>>();

  constructor(encoding: RowEncoding, deps: PartReaderDeps) {
    this.#encoding = encoding;
    this.#deps = deps;
  }

  /** Else all that was read came from row files. */
  get hasAskedDuckDb(): boolean {
    return this.#hasAskedDuckDb;
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
    const { pageTurns, keyId, rows, monotonic } = this.#deps;
    const askedAt = monotonic();
    const fitting = await rows?.fit(range.part, range, columns, cellBytesMax, signal);
    if (fitting !== undefined) return fitting;
    const waitedMillis = monotonic() - askedAt;
    this.#hasAskedDuckDb = true;
    const statement = ([path = '']: readonly string[]) => compileFit(columns, { ...range, path }, cellBytesMax);
    const [row] = await pageTurns.run(
      keyId,
      () => readParts({ ...this.#deps, waitedMillis }, this.#deps.scanner, [range], statement, signal),
      signal,
    );
    return { rowCount: Number(row?.[0] ?? 0), cellBytes: Number(row?.[1] ?? 0) };
  }

  /**
   * The rows of the ranges in order, some at a time.
   * @param takeTurns the read is long: each range waits for its turn among other long reads. Else it is a page, which is taken at once
   * @param skipped of the first rows, which are not to be read: they come as one chunk without bytes
   */
  async *ranges(
    ranges: readonly PartRange[],
    takeTurns: boolean,
    signal: AbortSignal,
    skipped: ChunkSize = NO_ROWS,
  ): AsyncGenerator<Chunk> {
    if (skipped.rowCount > 0) yield { ...skipped, byteChunks: [] };
    const left = Array.from(withoutFirst(ranges, skipped), (range): WantedRange => ({ ...range, waitedMillis: 0 }));
    const { assembling, keyId, monotonic, prefetch, rangesAtOnce } = this.#deps;
    using _ = takeTurns || left.length < 2 ? undefined : await assembling.enter(keyId, signal);
    // Rows that were encoded before are read when their turn comes: that takes no time worth beginning earlier.
    for (let [range] = left; range !== undefined; [range] = left) {
      const rest = yield* this.#encoded(range, signal);
      if (rest.from < rest.to) {
        left[0] = rest;
        break;
      }
      left.shift();
    }
    if (left.length === 0) return;
    const ahead = takeTurns && prefetch !== undefined ? new RangePrefetch(left, prefetch) : undefined;
    const begin = async ([index, range]: readonly [number, WantedRange], during: AbortSignal) => {
      const since = monotonic();
      // The first one has just turned out not to be.
      if (index > 0 && (await this.#isEncoded(range, during))) return range;
      ahead?.begins(index, during);
      const waitedMillis = range.waitedMillis + monotonic() - since;
      return await this.#encode({ ...range, waitedMillis }, takeTurns, during);
    };
    for await (const begun of readAhead(left.entries(), rangesAtOnce - 1, begin, signal)) {
      if ('part' in begun) {
        const rest = yield* this.#encoded(begun, signal);
        if (rest.from < rest.to) yield await this.#encode(rest, takeTurns, signal);
      } else yield begun;
    }
  }

  /**
   * Has the rows that follow read for whoever walks on. Small pages would decode each row group many times. Long ones gain where nobody else
   * reads pages, since then there is nothing else to do meanwhile.
   * @param page rows of the result or view that were read
   */
  readOn(page: RowRange): void {
    const { rows, rangeReader, pageTurns, open, statementMillisMax: millisMax, sleep } = this.#deps;
    const isLong = isLongPage(page.to - page.from);
    if (isLong && pageTurns.running > 0) return;
    const read: ReadRows = async (part, columns, range, signal) =>
      await withinMillis({ millisMax, duckDb: rangeReader, sleep }, signal, async (within) => {
        await using object = await open(part, range, within);
        const of = { part: object.path, columns };
        await requireNarrow(rangeReader, of, range, within);
        const about = await readAbout(rangeReader, columns, within);
        return await readRowTexts(rangeReader, of, about, range, within);
      });
    void rows?.readOn({ row: page.to, isLong }, this.#encoding, read);
  }

  async #isEncoded({ part, from }: PartRange, signal: AbortSignal): Promise<boolean> {
    return (await this.#deps.rows?.canRead(part, from, this.#encoding, signal)) === true;
  }

  /** Rows that were encoded before, up to the first that was not. @returns the others */
  async *#encoded(range: WantedRange, signal: AbortSignal): AsyncGenerator<Chunk, WantedRange> {
    const { rows, monotonic } = this.#deps;
    let { from } = range;
    let askedAt = monotonic();
    for await (const { text, rowCount, cellBytes } of rows?.read(range.part, range, this.#encoding, signal) ?? []) {
      from += rowCount;
      yield { byteChunks: [text], rowCount, cellBytes };
      askedAt = monotonic();
    }
    return { ...range, from, waitedMillis: monotonic() - askedAt };
  }

  /** Has DuckDB encode a range. */
  async #encode(range: WantedRange, takeTurns: boolean, during: AbortSignal): Promise<Chunk> {
    const { exports, pageTurns, keyId, monotonic, sleep } = this.#deps;
    this.#hasAskedDuckDb = true;
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
  }

  /** The rows of a range; in smaller ranges, or where there is more room, if as a whole they take more memory than there is. */
  async #range(range: WantedRange, signal: AbortSignal): Promise<Chunk> {
    const chunks: Chunk[] = [];
    const left = [...splitRange(range, this.#cuts)];
    for (let cut = left.shift(); cut !== undefined; cut = left.shift()) {
      const wasRoomy = this.#isRoomy || this.#deps.rangeReader === this.#deps.scanner;
      const reading = this.#isRoomy ? this.#inScanner(cut, signal) : this.#cut(cut, this.#deps.rangeReader, signal);
      this.#reading.add(reading);
      try {
        chunks.push(await reading);
      } catch (error) {
        const isTooLarge = error instanceof RequestError && isOutOfMemory(error.cause);
        const isSmall = cut.to - cut.from <= CUT_ROWS_MIN;
        if (!isTooLarge || (isSmall && wasRoomy)) throw error;
        // The other ranges are probably like this one.
        if (isSmall) this.#isRoomy = true;
        else this.#cuts = Math.min(CUTS_MAX, 2 * this.#cuts);
        left.unshift(...splitRange(cut, isSmall ? 1 : 2));
        // What is read beside it may have the memory.
        await Promise.allSettled(this.#reading);
      } finally {
        this.#reading.delete(reading);
      }
    }
    return joinChunks(chunks, this.#encoding.format);
  }

  /** Rows of some megabytes take many times that, since DuckDB decodes two thousand rows, or all that there are, to have one. */
  async #inScanner(range: WantedRange, signal: AbortSignal): Promise<Chunk> {
    await Promise.allSettled(this.#reading);
    const { searches, keyId, scanner } = this.#deps;
    return await searches.run(keyId, () => this.#cut(range, scanner, signal), signal);
  }

  async #cut({ part, from, to, waitedMillis }: WantedRange, duckDb: DuckDb, signal: AbortSignal): Promise<Chunk> {
    const { columns } = this.#encoding;
    const bytesMax = estimatedBytes(columns, to - from, cellBytesMaxOf([part], to - from));
    const deps = { ...this.#deps, waitedMillis };
    const readIn = async (mode: ReadMode) => {
      const compile = ([path = '']: readonly string[]) => compileRange(this.#encoding, { path, from, to }, mode);
      return await readEncoded(deps, duckDb, [{ part, from, to }], { compile, bytesMax }, signal);
    };
    const small = to - from <= SAFE_ROWS_MAX || columns.length > FEW_COLUMNS_MAX;
    let read = await readIn(small ? 'safe' : this.#mode);
    if (read.fourth !== true) {
      // The other ranges are probably like this one.
      this.#mode = 'safe';
      read = await readIn('safe');
    }
    const { byteChunks, rowCount, cellBytes } = read;
    // The manifest says how many rows are there; fewer would be an answer that is silently short.
    if (byteChunks.length === 0 || rowCount !== to - from) {
      throw damaged(new ObjectDamaged(part.key, `${rowCount} rows where ${to - from} are stored`));
    }
    return { byteChunks, rowCount, cellBytes };
  }
}
