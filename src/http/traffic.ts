/** The requests under way, counted, so that a service that is asked to stop can let them finish. */
import type { Sleep } from '../scheduler/time.ts';

export class Traffic {
  #underWay = 0;
  #stopping = false;
  readonly #quiet = Promise.withResolvers<void>();

  get underWay(): number {
    return this.#underWay;
  }

  /** From now on requests are refused. */
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

  /** Refuses what comes, and waits for what is there; at most so long. @returns how many are still under way then */
  async stop(graceMillis: number, sleep: Sleep): Promise<number> {
    this.#stopping = true;
    if (this.#underWay === 0) return 0;
    const timer = new AbortController();
    const grace = sleep(graceMillis, timer.signal).catch(() => undefined);
    await Promise.race([this.#quiet.promise, grace]);
    timer.abort(new Error('the last request has ended'));
    await grace;
    return this.#underWay;
  }
}
