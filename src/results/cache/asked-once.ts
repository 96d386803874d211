/** Remembers what has been asked for, to know what is asked for again. */

/** At most so many names are remembered; then all are forgotten. */
const NAMES_MAX = 10_000;

export class AskedOnce {
  readonly #names = new Set<string>();

  /** @returns whether it has been asked for before */
  note(name: string): boolean {
    if (this.#names.has(name)) return true;
    if (this.#names.size >= NAMES_MAX) this.#names.clear();
    this.#names.add(name);
    return false;
  }
}
