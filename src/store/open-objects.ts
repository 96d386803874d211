/**
 * Which objects this process has open. The store hands out a path, and the file is opened some time later; so an object that is open is not
 * deleted. Whoever wants it deleted is told so, and tries again later.
 */
export class OpenObjects {
  /** How many have each object open. */
  readonly #opened = new Map<string, number>();
  readonly #deleting = new Map<string, Promise<void>>();

  /** Waits for a deletion under way: what comes after it finds the object gone, and never half gone. */
  async open(key: string): Promise<Disposable> {
    for (;;) {
      const deleting = this.#deleting.get(key);
      if (deleting === undefined) break;
      await deleting.catch(() => undefined);
    }
    this.#opened.set(key, (this.#opened.get(key) ?? 0) + 1);
    let isReleased = false;
    return {
      [Symbol.dispose]: () => {
        if (isReleased) return;
        isReleased = true;
        const others = (this.#opened.get(key) ?? 1) - 1;
        if (others === 0) this.#opened.delete(key);
        else this.#opened.set(key, others);
      },
    };
  }

  /** Deletes the object unless it is open. @returns whether it did */
  async deleteUnlessOpen(key: string, remove: () => Promise<void>): Promise<boolean> {
    if (this.#opened.has(key)) return false;
    const deleting = remove();
    this.#deleting.set(key, deleting);
    try {
      await deleting;
    } finally {
      if (this.#deleting.get(key) === deleting) this.#deleting.delete(key);
    }
    return true;
  }
}
