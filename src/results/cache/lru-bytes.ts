/** Keeps values in memory up to a number of bytes. The least recently used goes first. */

/** What an entry takes in addition to its value and key. */
const ENTRY_BYTES = 500;

export class LruBytes<T> {
  readonly #bytesMax: number;
  readonly #sizeOf: (value: T) => number;
  /** Least recently used first. */
  readonly #values = new Map<string, T>();
  /** The key asked for last. If it is asked for again, it need not be moved. */
  #newest: string | undefined;
  #bytes = 0;

  constructor(bytesMax: number, sizeOf: (value: T) => number) {
    this.#bytesMax = bytesMax;
    this.#sizeOf = sizeOf;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): T | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    if (key !== this.#newest) {
      this.#values.delete(key);
      this.#values.set(key, value);
      this.#newest = key;
    }
    return value;
  }

  /** A value that would take more than an eighth of the whole is not kept: it would push out what many ask for. */
  keeps(key: string, value: T): boolean {
    return this.#bytesOf(key, value) <= this.#bytesMax / 8;
  }

  /** Does nothing with a value that it does not keep. */
  put(key: string, value: T): void {
    if (!this.keeps(key, value)) return;
    const bytes = this.#bytesOf(key, value);
    this.delete(key);
    this.#values.set(key, value);
    this.#newest = key;
    this.#bytes += bytes;
    for (const oldest of this.#values.keys()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.delete(oldest);
    }
  }

  /** Does nothing if there is no such value. */
  delete(key: string): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#bytes -= this.#bytesOf(key, value);
  }

  #bytesOf(key: string, value: T): number {
    return this.#sizeOf(value) + key.length * 2 + ENTRY_BYTES;
  }
}
