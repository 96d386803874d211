/** Counts the requests in flight, so that a service that is asked to stop can let them finish. */
import type { Sleep } from '../domain/time.ts';

export class InFlightRequests {
  #count = 0;
  #stopping = false;
  readonly #drained = Promise.withResolvers<void>();

  get count(): number {
    return this.#count;
  }

  /** Whether new requests are refused. */
  get stopping(): boolean {
    return this.#stopping;
  }

  readonly begin = (): void => {
    this.#count += 1;
  };

  readonly end = (): void => {
    this.#count -= 1;
    if (this.#stopping && this.#count === 0) this.#drained.resolve();
  };

  /** From now on requests are refused. */
  stopAccepting(): void {
    this.#stopping = true;
    if (this.#count === 0) this.#drained.resolve();
  }

  /** After `stopAccepting`: waits until no request is in flight, at most so long. @returns how many still are */
  async drained(millisMax: number, sleep: Sleep): Promise<number> {
    const timer = new AbortController();
    const limit = sleep(millisMax, timer.signal).catch(() => undefined);
    await Promise.race([this.#drained.promise, limit]);
    timer.abort(new Error('the last request has ended'));
    await limit;
    return this.#count;
  }
}
