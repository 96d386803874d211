/** Waiting. Whatever takes time is passed in like the clock, so that a test decides when time goes by; turns of the event loop take none. */

/** The signal of what nobody ends. It is one for all: whoever listens to it has to stop listening. */
export const NEVER: AbortSignal = new AbortController().signal;

/** Resolves after `millis`; rejects with the signal's reason once it is aborted. */
export type Sleep = (millis: number, signal: AbortSignal) => Promise<void>;

/** Waits for so long, or until the signal is aborted. */
export async function pause(millis: number, sleep: Sleep, signal: AbortSignal): Promise<void> {
  await sleep(millis, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

/** Calls `task` when this turn of the event loop is over: what else has come meanwhile is dealt with first. */
export function afterThisTurn(task: () => void): void {
  setImmediate(task);
}

/** Resolves after what else waits for the event loop has had its turn. */
export function letOthersRun(): Promise<void> {
  return new Promise(afterThisTurn);
}

/** Why nothing is waited for any longer. One for all: to make an error with its stack takes as long as a small read. */
const NOT_NEEDED = new Error('this is not waited for any longer');

/** Calls `task` after `millis`, unless it is disposed of before, be it at the last moment. */
export class Later implements Disposable {
  readonly #ended = new AbortController();

  constructor(millis: number, sleep: Sleep, task: () => void) {
    const { signal } = this.#ended;
    sleep(millis, signal).then(
      () => {
        if (!signal.aborted) task();
      },
      () => undefined,
    );
  }

  [Symbol.dispose](): void {
    this.#ended.abort(NOT_NEEDED);
  }
}

/** Work under a time limit: its signal aborts after `millis`, unless the limit has been disposed of before. */
export class TimeLimit implements Disposable {
  readonly #exceeded = new AbortController();
  readonly #end: Later;

  constructor(millis: number, sleep: Sleep) {
    this.#end = new Later(millis, sleep, () =>
      this.#exceeded.abort(new Error(`the limit of ${millis} ms is exceeded`)),
    );
  }

  get signal(): AbortSignal {
    return this.#exceeded.signal;
  }

  [Symbol.dispose](): void {
    this.#end[Symbol.dispose]();
  }
}
