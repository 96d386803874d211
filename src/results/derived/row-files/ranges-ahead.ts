/**
 * Rows of parts without row files, read for those who walk over them (decision 54). To read some rows of a row group DuckDB decodes all of
 * them. With some times the work it encodes all of them too, and the next pages of the walk are cut from that. Full pages are encoded while
 * the client deals with those before.
 */
import type { RowRange } from '../../../domain/blocks.ts';
import { orAborted } from '../../../domain/or-aborted.ts';
import { type Column, type Part, ROW_GROUP_ROWS } from '../../../domain/result-set.ts';
import { type Sleep, TimeLimit } from '../../../domain/time.ts';
import { Turns } from '../../../domain/turns.ts';
import { estimatedBytes } from '../../compile/row-encoding.ts';
import { EncodedRange } from './encoded-range.ts';
import type { RowTexts, WantedRows } from './read-row-texts.ts';

/** Text of an encoded range: a row group of usual rows. */
const BYTES_AIM = 6 * 1024 * 1024;
/** Of all that there is room for: whoever walks has one to read from and three that follow. */
const SHARE_MAX = 1 / 4;
const CELLS_AIM = 512 * 1024;
/** Reading fewer rows takes nearly as long as reading a page. */
const ROWS_MIN = 1024;
/** One that nobody has read from for so long makes room for others. */
const IDLE_MILLIS = 2000;
const READING_MAX = 3;

/** Reads rows of a part. */
export type ReadAhead = (rows: WantedRows, signal: AbortSignal) => Promise<RowTexts>;

interface Kept {
  /** About, until it has been read. */
  bytes: number;
  usedAt: number;
  /** Undefined where it cannot be read. */
  readonly reading: Promise<EncodedRange | undefined>;
  encoded: EncodedRange | undefined;
  /** Somebody has waited for it as long as may be: nobody else does. */
  isLate: boolean;
}

/** How long whoever wants an encoded range waits for it. */
export interface RangePatience {
  readonly millis: number;
  readonly sleep: Sleep;
}

export class RangesAhead implements AsyncDisposable {
  readonly #bytesMax: number;
  readonly #monotonic: () => number;
  readonly #turns = new Turns();
  /** The least recently used first. */
  readonly #kept = new Map<string, Kept>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  readonly #patience: RangePatience;
  #bytes = 0;

  /**
   * @param monotonic milliseconds
   * @param patience whoever has waited so long reads the rows by other means, and needs time for that
   */
  constructor(bytesMax: number, monotonic: () => number, patience: RangePatience) {
    this.#bytesMax = bytesMax;
    this.#monotonic = monotonic;
    this.#patience = patience;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The rows of the encoded range that has this row.
   * @param row counted within the part, as is the answer
   * @returns undefined where the part's rows are too wide
   */
  around(part: Part, columns: readonly Column[], row: number): RowRange | undefined {
    for (let rows = ROW_GROUP_ROWS; rows >= ROWS_MIN; rows /= 2) {
      if (bytesOf(part, columns, rows) > this.#rangeBytesMax || rows * columns.length > CELLS_AIM) continue;
      const from = row - (row % rows);
      return { from, to: Math.min(part.rowCount, from + rows) };
    }
    return undefined;
  }

  get #rangeBytesMax(): number {
    return Math.min(BYTES_AIM, this.#bytesMax * SHARE_MAX);
  }

  /** Whether the encoded range is there or being read. @param rows as `around` answers */
  has(part: Part, rows: RowRange): boolean {
    return this.#kept.has(keyOf(part, rows));
  }

  /** The encoded range, if it is there, or being read and not late. @param rows as `around` answers @throws the signal's reason */
  async find(part: Part, rows: RowRange, signal: AbortSignal): Promise<EncodedRange | undefined> {
    const key = keyOf(part, rows);
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    kept.usedAt = this.#monotonic();
    return kept.encoded ?? (kept.isLate ? undefined : await this.#waitFor(kept, signal));
  }

  async #waitFor(kept: Kept, signal: AbortSignal): Promise<EncodedRange | undefined> {
    using limit = new TimeLimit(this.#patience.millis, this.#patience.sleep);
    try {
      return await orAborted(kept.reading, AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (!limit.signal.aborted) throw error;
      kept.isLate = true;
      return undefined;
    }
  }

  /**
   * Begins to read the encoded range, if there is room for it.
   * @param rows as `around` answers
   * @param onUnreadable called where it turns out that there is no room, or that it cannot be read. Whoever asks for its rows is told why when
   * they read them themselves
   */
  begin(part: Part, columns: readonly Column[], rows: RowRange, read: ReadAhead, onUnreadable: () => void): void {
    const key = keyOf(part, rows);
    const bytes = bytesOf(part, columns, rows.to - rows.from);
    if (this.#closing.signal.aborted || this.#kept.has(key)) return;
    if (this.#running.size >= READING_MAX || !this.#makeRoom(bytes)) return;
    const isNarrow = Math.min((rows.to - rows.from) * part.rowBytesMax, part.cellBytes) <= this.#rangeBytesMax;
    const wanted = { ...rows, cellBytesMax: isNarrow ? undefined : this.#rangeBytesMax };
    const reading = this.#read(key, wanted, read, onUnreadable);
    this.#kept.set(key, { bytes, usedAt: this.#monotonic(), reading, encoded: undefined, isLate: false });
    this.#bytes += bytes;
    this.#running.add(reading);
  }

  async #read(
    key: string,
    rows: WantedRows,
    read: ReadAhead,
    onUnreadable: () => void,
  ): Promise<EncodedRange | undefined> {
    const encoded = await read(rows, this.#closing.signal)
      .then((texts) => new EncodedRange(rows, texts, this.#turns))
      .catch(() => undefined);
    const kept = this.#kept.get(key);
    if (kept === undefined) throw new Error('what is being read is kept');
    this.#running.delete(kept.reading);
    // Text may be longer than it was thought to be.
    if (encoded === undefined || !this.#makeRoom(encoded.byteLength - kept.bytes)) {
      this.#drop(key, kept);
      onUnreadable();
      return undefined;
    }
    kept.encoded = encoded;
    this.#bytes += encoded.byteLength - kept.bytes;
    kept.bytes = encoded.byteLength;
    return encoded;
  }

  /** @returns whether there is room once those have gone that nobody needs */
  #makeRoom(bytes: number): boolean {
    for (const [key, kept] of this.#kept) {
      if (this.#bytes + bytes <= this.#bytesMax) break;
      const { encoded, usedAt } = kept;
      if (encoded?.isUsedUp || (encoded && this.#monotonic() - usedAt >= IDLE_MILLIS)) this.#drop(key, kept);
    }
    return this.#bytes + bytes <= this.#bytesMax;
  }

  #drop(key: string, kept: Kept): void {
    this.#kept.delete(key);
    this.#bytes -= kept.bytes;
    kept.encoded?.retire();
  }

  /** Ends what is being read. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running);
  }
}

/** About the bytes of so many rows as text. */
function bytesOf(part: Part, columns: readonly Column[], rowCount: number): number {
  return Math.ceil(estimatedBytes(columns, rowCount, (part.cellBytes / Math.max(1, part.rowCount)) * rowCount));
}

function keyOf({ key, sha256 }: Part, { from }: RowRange): string {
  return `${key} ${sha256} ${from}`;
}
