/**
 * Work that several callers want at once and that is done once for all of them. A caller who leaves does not end it for the
 * others; when all have left, it is aborted.
 */
import { orAborted } from '../../domain/or-aborted.ts';

interface Work {
  readonly done: Promise<void>;
  readonly controller: AbortController;
  callers: number;
}

export class SharedWork {
  readonly #running = new Map<string, Work>();

  /** Joins the work of this name, or starts it. @throws the signal's reason, or the work's error. */
  async join(name: string, start: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const work = this.#running.get(name) ?? this.#start(name, start);
    work.callers += 1;
    try {
      await orAborted(work.done, signal);
    } finally {
      work.callers -= 1;
      if (work.callers === 0) {
        work.controller.abort();
        if (this.#running.get(name) === work) this.#running.delete(name);
      }
    }
  }

  #start(name: string, start: (signal: AbortSignal) => Promise<void>): Work {
    const controller = new AbortController();
    const done = start(controller.signal);
    // Whoever waits sees the failure; when nobody waits any more, nobody needs to.
    done.catch(() => undefined);
    const work: Work = { done, controller, callers: 0 };
    this.#running.set(name, work);
    return work;
  }
}
