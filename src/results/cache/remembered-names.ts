/** Remembers names, to know which of them come again. */

/** At most so many are remembered; then all are forgotten. */
const NAMES_MAX = 10_000;

export class RememberedNames {
  readonly #names = new Set<string>();

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** @returns whether it was remembered already */
  note(name: string): boolean {
    if (this.#names.has(name)) return true;
    if (this.#names.size >= NAMES_MAX) this.#names.clear();
    this.#names.add(name);
    return false;
  }
}
