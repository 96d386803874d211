/** Bounds how many requests there are at once, whoever makes them. Who waits for a place is served in turn, and may leave. */
import { orAborted } from '../../domain/or-aborted.ts';

export class RequestLimit {
  readonly #max: number;
  /** Each gives its place to whoever waits for it. The first has waited longest. */
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** A place, until it is disposed of. @throws the signal's reason */
  async enter(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#running < this.#max) this.#running += 1;
    else await this.#wait(signal);
    return { [Symbol.dispose]: () => this.#leave() };
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await orAborted(promise, signal);
    } catch (error) {
      // The place may have come at the same moment.
      if (!this.#waiting.delete(resolve)) this.#leave();
      throw error;
    }
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#running -= 1;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
