/**
 * What has been opened, closed in reverse order: an AsyncDisposableStack, which Node 22 does not have and the library that runs on it
 * (publisher.ts) needs.
 */
export class Opened {
  #open: AsyncDisposable[] = [];

  use<T extends AsyncDisposable>(resource: T): T {
    this.#open.push(resource);
    return resource;
  }

  /** Closes all, whatever fails; a second time nothing. @throws the first failure */
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
