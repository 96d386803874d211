/** Waiting. Whatever takes time is passed in like the clock, so that a test decides when time goes by; turns of the event loop take none. */

/** Resolves after `millis`; rejects with the signal's reason once it is aborted. */
export type Sleep = (millis: number, signal: AbortSignal) => Promise<void>;

/** Calls `task` when this turn of the event loop is over: what else has come meanwhile is dealt with first. */
export function afterThisTurn(task: () => void): void {
  setImmediate(task);
}

/** Resolves after what else waits for the event loop has had its turn. */
export function letOthersRun(): Promise<void> {
  return new Promise(afterThisTurn);
}

/** Why a limit does not wait any longer. One for all: to make an error with its stack takes as long as a small read. */
const WORK_IS_OVER = new Error('the work under this limit is over');

/** Work under a time limit: its signal aborts after `millis`, unless the limit has been disposed of before. */
export class TimeLimit implements Disposable {
  readonly #exceeded = new AbortController();
  readonly #done = new AbortController();

  constructor(millis: number, sleep: Sleep) {
    sleep(millis, this.#done.signal).then(
      () => this.#exceeded.abort(new Error(`the limit of ${millis} ms is exceeded`)),
      () => undefined,
    );
  }

  get signal(): AbortSignal {
    return this.#exceeded.signal;
  }

  [Symbol.dispose](): void {
    this.#done.abort(WORK_IS_OVER);
  }
}
