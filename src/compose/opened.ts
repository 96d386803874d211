/**
 * Closes what was opened, in reverse order. Stands for an AsyncDisposableStack, which Node 22 lacks; the library (publisher.ts)
 * runs on Node 22.
 */
export class Opened {
  #open: AsyncDisposable[] = [];

  use<T extends AsyncDisposable>(resource: T): T {
    this.#open.push(resource);
    return resource;
  }

  /** Closes everything, whatever fails. A second call does nothing. @throws the first failure */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const resource of this.#open.splice(0).reverse()) {
      try {
        await resource[Symbol.asyncDispose]();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
