/** The requests under way, counted, so that a service that is asked to stop can let them finish. */
import type { Sleep } from '../domain/time.ts';

export class InFlightRequests {
  #underWay = 0;
  #stopping = false;
  readonly #quiet = Promise.withResolvers<void>();

  get underWay(): number {
    return this.#underWay;
  }

  /** Requests are refused. */
  get stopping(): boolean {
    return this.#stopping;
  }

  readonly begin = (): void => {
    this.#underWay += 1;
  };

  readonly end = (): void => {
    this.#underWay -= 1;
    if (this.#stopping && this.#underWay === 0) this.#quiet.resolve();
  };

  /** From now on requests are refused. */
  stopAccepting(): void {
    this.#stopping = true;
    if (this.#underWay === 0) this.#quiet.resolve();
  }

  /** After `refuse`: waits until no request is under way, at most so long. @returns how many still are */
  async drained(millisMax: number, sleep: Sleep): Promise<number> {
    const timer = new AbortController();
    const limit = sleep(millisMax, timer.signal).catch(() => undefined);
    await Promise.race([this.#quiet.promise, limit]);
    timer.abort(new Error('the last request has ended'));
    await limit;
    return this.#underWay;
  }
}
