/**
 * Turns on the event loop. In each round of the loop one of all who wait goes on, for less than a millisecond: long reads of row files, or
 * requests that waited for the same page. So however many there are, others wait for one at most.
 */
import { afterThisTurn } from './time.ts';

export class Turns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves in a round of the event loop that nobody else has been given. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) this.#schedule();
    });
  }

  #schedule(): void {
    afterThisTurn(() => {
      this.#waiting.shift()?.();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }
}
