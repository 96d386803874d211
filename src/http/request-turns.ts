/**
 * Requests that come at the same moment begin in several turns of the event loop. Node tells of all that have come in one turn, one after
 * the other; 500 of them would hold the loop for a tenth of a second. Once those of a turn have taken some milliseconds, the others wait,
 * and one begins in each of the turns that follow, in the order in which they came. What else is in flight goes on in between.
 */
import { performance } from 'node:perf_hooks';
import { afterThisTurn } from '../domain/time.ts';

/** So long requests may begin in one turn. */
const TURN_MILLIS_MAX = 5;

export class RequestTurns {
  readonly #monotonic: () => number;
  readonly #turnNumber: () => number;
  #turn = -1;
  #turnBeganMillis = 0;
  #waiting: (() => void)[] = [];

  /**
   * @param monotonic milliseconds that only ever grow
   * @param turnNumber another one in each turn of the event loop
   */
  constructor(monotonic: () => number, turnNumber = () => performance.nodeTiming.uvMetricsInfo.loopCount) {
    this.#monotonic = monotonic;
    this.#turnNumber = turnNumber;
  }

  /** Begins a request, now or in another turn. */
  begin(request: () => void): void {
    if (this.#waiting.length === 0 && this.#hasTime()) {
      request();
      return;
    }
    this.#waiting.push(request);
    if (this.#waiting.length === 1) afterThisTurn(this.#beginNext);
  }

  #hasTime(): boolean {
    const turn = this.#turnNumber();
    const now = this.#monotonic();
    if (turn !== this.#turn) {
      this.#turn = turn;
      this.#turnBeganMillis = now;
    }
    return now - this.#turnBeganMillis < TURN_MILLIS_MAX;
  }

  readonly #beginNext = (): void => {
    const request = this.#waiting.shift();
    if (this.#waiting.length > 0) afterThisTurn(this.#beginNext);
    request?.();
  };
}
