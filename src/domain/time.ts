/** Waiting. Whatever takes time is passed in like the clock, so that a test decides when time goes by. */

/** Resolves after `millis`; rejects with the signal's reason once it is aborted. */
export type Sleep = (millis: number, signal: AbortSignal) => Promise<void>;

/** Resolves after what else waits for the event loop has had its turn. */
export function letOthersRun(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

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
    this.#done.abort();
  }
}
