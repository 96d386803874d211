/**
 * Bounds heavy reads (exports and materialised views), for each key and for all together, so that one user does not slow down the others.
 * A key that has its number in flight is refused at once. If only the places of all are taken, a key waits for one for some time, and
 * keys take turns. A read that was let in is never refused later.
 */
import { type Sleep, TimeLimit } from '../../domain/time.ts';
import { RequestError } from '../../errors/errors.ts';
import { WorkQueue } from './work-queue.ts';

export interface ConcurrencyLimits {
  readonly heavyReadsMax: number;
  /** Of one key, including those that wait for a place. */
  readonly heavyReadsPerKeyMax: number;
  /** The longest that one waits for a place. */
  readonly heavyReadsWaitMillis: number;
}

export class ConcurrencyLimiter {
  readonly #limits: ConcurrencyLimits;
  readonly #sleep: Sleep;
  /** In flight or waiting for a place. */
  readonly #perKey = new Map<string, number>();
  readonly #places: WorkQueue;

  constructor(limits: ConcurrencyLimits, sleep: Sleep) {
    this.#limits = limits;
    this.#sleep = sleep;
    // As many may wait as may be in flight: if more waited, the last would not get a place in time.
    this.#places = new WorkQueue({ runningMax: limits.heavyReadsMax, waitingMax: limits.heavyReadsMax });
  }

  get running(): number {
    return this.#places.running;
  }

  get waiting(): number {
    return this.#places.waiting;
  }

  /**
   * Lets one heavy read in, until it is disposed of.
   * @throws RequestError rate_limited when this key has too many in flight, overloaded when all keys together have and no place
   *   became free in time; the signal's reason when it aborts before
   */
  async acquire(keyId: string, signal: AbortSignal): Promise<Disposable> {
    const ofKey = this.#perKey.get(keyId) ?? 0;
    if (ofKey >= this.#limits.heavyReadsPerKeyMax) {
      throw new RequestError(
        'rate_limited',
        `this key has ${ofKey} exports or large sorted or filtered reads in flight, the most that one key may have; wait for one to end`,
      );
    }
    this.#perKey.set(keyId, ofKey + 1);
    using held = new DisposableStack();
    held.defer(() => this.#forget(keyId));
    held.use(await this.#place(keyId, signal));
    return held.move();
  }

  async #place(keyId: string, signal: AbortSignal): Promise<Disposable> {
    const { heavyReadsMax, heavyReadsWaitMillis } = this.#limits;
    using patience = new TimeLimit(heavyReadsWaitMillis, this.#sleep);
    try {
      return await this.#places.enter(keyId, AbortSignal.any([signal, patience.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (!patience.signal.aborted) throw error;
      throw new RequestError(
        'overloaded',
        `${heavyReadsMax} exports or large sorted or filtered reads are in flight, and none ended in ${heavyReadsWaitMillis / 1000} s; try again in some seconds`,
      );
    }
  }

  #forget(keyId: string): void {
    const left = (this.#perKey.get(keyId) ?? 1) - 1;
    if (left === 0) this.#perKey.delete(keyId);
    else this.#perKey.set(keyId, left);
  }
}
