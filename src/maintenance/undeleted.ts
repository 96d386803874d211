/**
 * What a sweep could not delete, such as files of another user, or on a failing part of the disk. One such file must not keep the sweep from
 * deleting what comes after it.
 */
import { counted } from '../domain/counted.ts';
import { isStorageFull } from '../errors/storage-full.ts';
import { StoreUnavailable } from '../errors/store-unavailable.ts';
import { SweepStopped } from './sweep-trust.ts';

/** After so many failures the sweep gives up: probably nothing can be deleted. */
const FAILURES_MAX = 100;

export class Undeleted {
  #count = 0;
  #first: unknown;

  /**
   * @returns what `remove` does; undefined where it failed
   * @throws what is not about this deletion alone: the signal's reason, a full disk, a store that cannot be reached
   */
  async attempt<T>(remove: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
    try {
      return await remove();
    } catch (error) {
      signal.throwIfAborted();
      if (isStorageFull(error) || error instanceof StoreUnavailable) throw error;
      this.#first ??= error;
      this.#count += 1;
      if (this.#count >= FAILURES_MAX) this.requireNone();
      return undefined;
    }
  }

  /** @throws SweepStopped */
  requireNone(): void {
    if (this.#count === 0) return;
    const why = this.#first instanceof Error ? this.#first.message : String(this.#first);
    throw new SweepStopped(
      `${counted(this.#count, 'leftover')} cannot be deleted: ${why}; give this user the right to, or remove what is named; all others were deleted`,
      { cause: this.#first },
    );
  }
}
