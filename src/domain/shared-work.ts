/**
 * Work that several callers want at once and that is done once for all of them. A caller who leaves does not end it for the
 * others; when all have left, it is aborted.
 */
import { orAborted } from './or-aborted.ts';

interface Work<T> {
  readonly done: Promise<T>;
  readonly controller: AbortController;
  callers: number;
}

export class SharedWork<T> {
  readonly #running = new Map<string, Work<T>>();

  /** Joins the work of this name, or starts it. @throws the signal's reason, or the work's error. */
  async join(name: string, start: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const work = this.#running.get(name) ?? this.#start(name, start);
    work.callers += 1;
    try {
      return await orAborted(work.done, signal);
    } finally {
      work.callers -= 1;
      if (work.callers === 0) {
        work.controller.abort();
        if (this.#running.get(name) === work) this.#running.delete(name);
      }
    }
  }

  #start(name: string, start: (signal: AbortSignal) => Promise<T>): Work<T> {
    const controller = new AbortController();
    const done = start(controller.signal);
    // Whoever waits sees the failure; when nobody waits any more, nobody needs to.
    done.catch(() => undefined);
    const work: Work<T> = { done, controller, callers: 0 };
    this.#running.set(name, work);
    return work;
  }
}
