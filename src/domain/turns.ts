/**
 * Turns on the event loop. In each round of the loop some of all who wait go on, for some milliseconds together: a long read of row files,
 * a request that waited for the same page, look-ups of lists. So however many there are, others wait for these at most.
 */
import { afterThisTurn } from './time.ts';

export class Turns {
  readonly #perRound: number;
  /** How many more may go on in this round. */
  #left: number;
  #isScheduled = false;
  readonly #waiting: (() => void)[] = [];

  /** @param perRound how many go on in one round of the event loop */
  constructor(perRound = 1) {
    this.#perRound = perRound;
    this.#left = perRound;
  }

  /** Resolves in a later round, in the order of asking. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#schedule();
    });
  }

  /** Undefined where there are few: who asks may go on in this round. Else as `next`. */
  nextIfMany(): Promise<void> | undefined {
    if (this.#waiting.length > 0 || this.#left === 0) return this.next();
    this.#left -= 1;
    this.#schedule();
    return undefined;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    afterThisTurn(this.#beginRound);
  }

  readonly #beginRound = (): void => {
    this.#isScheduled = false;
    const going = this.#waiting.splice(0, this.#perRound);
    this.#left = this.#perRound - going.length;
    for (const resolve of going) resolve();
    if (going.length > 0) this.#schedule();
  };
}
