/**
 * Turns on the event loop: of all long reads of row files one goes on in each round of it, for less than a millisecond, so that however
 * many there are nobody else waits for more than one.
 */
import { afterThisTurn } from '../../../domain/time.ts';

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
