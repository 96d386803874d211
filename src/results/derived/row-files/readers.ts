/** Who reads something that is to be closed: it is closed once it has been retired and nobody reads it any more. */
export class Readers {
  readonly #close: () => void;
  #count = 0;
  #isRetired = false;

  /** @param close called once */
  constructor(close: () => void) {
    this.#close = close;
  }

  /** Keeps it open until it is disposed of; undefined where it is closed already. */
  reading(): Disposable | undefined {
    if (this.#isRetired && this.#count === 0) return undefined;
    this.#count += 1;
    let ended = false;
    return {
      [Symbol.dispose]: () => {
        if (ended) return;
        ended = true;
        this.#count -= 1;
        this.#closeIfUnused();
      },
    };
  }

  /** Has it closed as soon as nobody reads it. */
  retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#closeIfUnused();
  }

  #closeIfUnused(): void {
    if (this.#isRetired && this.#count === 0) this.#close();
  }
}
