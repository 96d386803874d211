/**
 * Results that DuckDB holds until the garbage collector finds that nobody needs them. The collector does not know how large they are, so
 * an export leaves hundreds of megabytes of them before it looks. Here they are counted, and it is told to look among what is
 * young, which takes a millisecond or two.
 */
import { afterThisTurn } from '../domain/time.ts';

/** So many bytes may lie about. */
const UNCOLLECTED_BYTES_MAX = 32 * 1024 * 1024;

export class NativeResults {
  readonly #collect: (garbage: 'minor' | 'major') => void;
  #bytes = 0;
  /** Since a result was last taken, young garbage has been collected for want of memory. */
  #isShort = false;

  /** @param collect collects young garbage (`minor`), or all */
  constructor(collect: (garbage: 'minor' | 'major') => void) {
    this.#collect = collect;
  }

  /** A result of so many bytes has been taken, and will not be needed again. */
  count(bytes: number): void {
    this.#isShort = false;
    this.#bytes += bytes;
    if (this.#bytes <= UNCOLLECTED_BYTES_MAX) return;
    this.#bytes = 0;
    // Not before whoever took the result has let go of it.
    afterThisTurn(() => this.#collect('minor'));
  }

  /**
   * A statement has not found the memory that it needs: what lies about may hold it. Where collecting what is young was not enough, all is
   * collected, which takes some tens of milliseconds.
   */
  release(): void {
    this.#bytes = 0;
    this.#collect(this.#isShort ? 'major' : 'minor');
    this.#isShort = true;
  }
}

/** Of this process; nothing is collected where Node runs without `--expose-gc`, which bin/qrs.js gives it. */
export const nativeResults = new NativeResults((type) => void globalThis.gc?.({ type }));
