/** Bounds how many requests there are at once, whoever makes them. Who waits for a place may leave. */
import { orAborted } from '../../domain/or-aborted.ts';

export class RequestLimit {
  readonly #max: number;
  readonly #running = new Set<Promise<void>>();

  constructor(max: number) {
    this.#max = max;
  }

  /** A place, until it is disposed of. @throws the signal's reason */
  async enter(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    while (this.#running.size >= this.#max) await orAborted(Promise.race(this.#running), signal);
    const left = Promise.withResolvers<void>();
    this.#running.add(left.promise);
    return {
      [Symbol.dispose]: () => {
        this.#running.delete(left.promise);
        left.resolve();
      },
    };
  }
}
