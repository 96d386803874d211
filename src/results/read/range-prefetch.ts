/**
 * Has the store fetch what a long read needs next while it reads what is there, so that it does not wait for each of its ranges. It goes a
 * bounded number of bytes ahead, and no further until the read has got on, however slow the client is.
 */
import type { RowRange } from '../../domain/blocks.ts';
import type { Part } from '../../domain/result-set.ts';
import type { PartRange } from './part-ranges.ts';

/** What an export reads in a third of a second, when nothing holds it up. */
const AHEAD_BYTES_MAX = 16 * 1024 * 1024;

/** Has rows of a part fetched, unless it is local. It never rejects. */
export type Prefetch = (part: Part, rows: RowRange, signal: AbortSignal) => Promise<void>;

export class RangePrefetch {
  readonly #ranges: readonly PartRange[];
  readonly #prefetch: Prefetch;
  /** The first that the store has not been told of. */
  #next = 0;

  constructor(ranges: readonly PartRange[], prefetch: Prefetch) {
    this.#ranges = ranges;
    this.#prefetch = prefetch;
  }

  /** To be called when the range at this index begins to be read. The next one is always fetched, whatever its size. */
  begins(index: number, signal: AbortSignal): void {
    this.#next = Math.max(this.#next, index + 1);
    let bytes = this.#ranges.slice(index + 1, this.#next).reduce((sum, range) => sum + storedBytesOf(range), 0);
    for (let range = this.#ranges[this.#next]; range !== undefined; range = this.#ranges[this.#next]) {
      bytes += storedBytesOf(range);
      if (bytes > AHEAD_BYTES_MAX && this.#next > index + 1) return;
      this.#next += 1;
      const { part, from, to } = range;
      void this.#prefetch(part, { from, to }, signal);
    }
  }
}

/** About: the rows' share of their part. */
function storedBytesOf({ part, from, to }: PartRange): number {
  return (part.objectBytes * (to - from)) / Math.max(1, part.rowCount);
}
