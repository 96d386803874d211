/**
 * A queue of work: at most so many pieces at a time, at most so many waiting, and an honest refusal beyond that. One queue may
 * give way to another: while that has any work, this does one piece at a time.
 */
import { RequestError } from '../errors/errors.ts';

export interface WorkQueueLimits {
  readonly runningMax: number;
  readonly waitingMax: number;
}

export class WorkQueue {
  readonly #limits: WorkQueueLimits;
  readonly #waiting = new Set<() => void>();
  readonly #givesWayTo: WorkQueue | undefined;
  /** Those that give way to this. */
  readonly #behind: WorkQueue[] = [];
  #running = 0;

  constructor(limits: WorkQueueLimits, givesWayTo?: WorkQueue) {
    this.#limits = limits;
    this.#givesWayTo = givesWayTo;
    if (givesWayTo !== undefined) givesWayTo.#behind.push(this);
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Runs `task` when its turn has come.
   * @throws RequestError overloaded when too many wait already; the signal's reason when it aborts while waiting
   */
  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(signal);
    try {
      return await task();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#hasRoom()) {
      this.#running += 1;
      return;
    }
    if (this.#waiting.size >= this.#limits.waitingMax) {
      throw new RequestError('overloaded', 'too many heavy reads are waiting; try again in some seconds');
    }
    const turn = Promise.withResolvers<void>();
    const give = () => turn.resolve();
    const leave = () => {
      this.#waiting.delete(give);
      turn.reject(signal.reason);
    };
    this.#waiting.add(give);
    signal.addEventListener('abort', leave, { once: true });
    try {
      await turn.promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #hasRoom(): boolean {
    const isQuiet = this.#givesWayTo === undefined || this.#givesWayTo.running === 0;
    return this.#running < (isQuiet ? this.#limits.runningMax : 1);
  }

  #leave(): void {
    this.#running -= 1;
    this.#fill();
    if (this.#running === 0) for (const queue of this.#behind) queue.#fill();
  }

  /** Gives the places that are free to those who have waited longest. */
  #fill(): void {
    for (const next of this.#waiting) {
      if (!this.#hasRoom()) return;
      this.#running += 1;
      this.#waiting.delete(next);
      next();
    }
  }
}
