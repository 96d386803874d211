/**
 * Turns on the event loop. In each round of the loop one of all long reads of row files goes on, for less than a millisecond.
 * So however many there are, others wait for one at most.
 */
import { afterThisTurn } from '../../../domain/time.ts';

export class Turns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves in a round of the event loop that no other read has been given. */
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
