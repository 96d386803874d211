/**
 * A queue for heavy work: at most so many at a time, at most so many waiting, and an honest refusal beyond that. Small pages
 * never wait here.
 */
import { RequestError } from '../errors/errors.ts';

export interface WorkQueueLimits {
  readonly runningMax: number;
  readonly waitingMax: number;
}

const RETRY_AFTER_SECONDS = 5;

export class WorkQueue {
  readonly #limits: WorkQueueLimits;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(limits: WorkQueueLimits) {
    this.#limits = limits;
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
    if (this.#running < this.#limits.runningMax) {
      this.#running += 1;
      return;
    }
    if (this.#waiting.size >= this.#limits.waitingMax) {
      throw new RequestError('overloaded', 'too many heavy reads are waiting; try again in some seconds', {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
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

  /** Hands the place to whoever has waited longest. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
