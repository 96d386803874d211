/**
 * Bounds what is done in one turn of the event loop. Each of those who ask does little in a turn, but together they may hold the loop for
 * a fifth of a second, as the look-ups of 80 lists do.
 */
import { afterThisTurn } from './time.ts';

export class TurnBudget {
  readonly #countMax: number;
  #left: number;
  readonly #waiting: (() => void)[] = [];

  /** @param countMax how many may be begun in one turn */
  constructor(countMax: number) {
    this.#countMax = countMax;
    this.#left = countMax;
  }

  /** Undefined: it may be begun at once. Else it may when this resolves: in a later turn, in the order of asking. */
  next(): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#left > 0) {
      this.#take();
      return undefined;
    }
    return new Promise((begin) => {
      this.#waiting.push(begin);
    });
  }

  #take(): void {
    if (this.#left === this.#countMax) afterThisTurn(this.#renew);
    this.#left -= 1;
  }

  readonly #renew = (): void => {
    this.#left = this.#countMax;
    while (this.#left > 0) {
      const begin = this.#waiting.shift();
      if (begin === undefined) return;
      this.#take();
      begin();
    }
  };
}
