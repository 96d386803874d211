/**
 * Results that DuckDB holds until the garbage collector finds that nobody needs them. The collector does not know how large they are, so
 * an export leaves hundreds of megabytes of them before it looks. Here they are counted, and it is told to look among what is
 * young, which takes a millisecond or two.
 */
import { afterThisTurn } from '../domain/time.ts';

/** So many bytes may lie about. */
const UNCOLLECTED_BYTES_MAX = 32 * 1024 * 1024;

export class NativeResults {
  readonly #collect: () => void;
  #bytes = 0;

  /** @param collect collects young garbage */
  constructor(collect: () => void) {
    this.#collect = collect;
  }

  /** A result of so many bytes has been taken, and will not be needed again. */
  count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= UNCOLLECTED_BYTES_MAX) return;
    this.#bytes = 0;
    // Not before whoever took the result has let go of it.
    afterThisTurn(this.#collect);
  }
}

/** Of this process; nothing is collected where Node runs without `--expose-gc`, which bin/qrs.js gives it. */
export const nativeResults = new NativeResults(() => void globalThis.gc?.({ type: 'minor' }));
