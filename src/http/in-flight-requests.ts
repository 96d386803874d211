/** Counts the requests in flight, so that a service that is asked to stop can let them finish. */
import type { Sleep } from '../domain/time.ts';

export class InFlightRequests {
  #count = 0;
  #closing = false;
  #stopping = false;
  #draining = false;
  readonly #drained = Promise.withResolvers<void>();

  get count(): number {
    return this.#count;
  }

  /** Whether each answer ends its connection, so that the client connects to another process, or learns that there is none. */
  get closing(): boolean {
    return this.#closing;
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
    if (this.#draining && this.#count === 0) this.#drained.resolve();
  };

  /** From now on each answer ends its connection. */
  closeConnections(): void {
    this.#closing = true;
  }

  /** From now on requests are refused. */
  stopAccepting(): void {
    this.#closing = true;
    this.#stopping = true;
  }

  /** Waits until no request is in flight, at most so long. @returns how many still are */
  async drained(millisMax: number, sleep: Sleep): Promise<number> {
    this.#draining = true;
    if (this.#count === 0) this.#drained.resolve();
    const timer = new AbortController();
    const limit = sleep(millisMax, timer.signal).catch(() => undefined);
    await Promise.race([this.#drained.promise, limit]);
    timer.abort(new Error('the last request has ended'));
    await limit;
    return this.#count;
  }
}
