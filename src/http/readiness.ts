/**
 * The checks of `/readyz`: does each thing that the service needs do what it should? A check may wait for a disk, and may write to it,
 * and anybody may ask. So requests that come at the same moment share one run of the checks, its outcome holds for a second, and a check
 * that does not end counts as failed.
 */

import { orAborted } from '../domain/or-aborted.ts';
import { type Sleep, TimeLimit } from '../domain/time.ts';
import { NotReady } from '../errors/not-ready.ts';

export interface ReadinessOptions {
  /** Each rejects if what it names is not as it should be, with a NotReady where callers may be told the reason. */
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  /** Milliseconds that only ever grow. */
  readonly monotonic: () => number;
  readonly sleep: Sleep;
  /** Told of every check that failed. */
  readonly onFailed: (name: string, error: unknown) => void;
}

/** What is missing, by the name of the check. */
export type Missing = ReadonlyMap<string, string>;

const HOLDS_MILLIS = 1000;
const CHECK_MILLIS_MAX = 5000;

export class Readiness {
  readonly #options: ReadinessOptions;
  #look: { readonly missing: Promise<Missing>; readonly isOver: () => boolean } | undefined;

  constructor(options: ReadinessOptions) {
    this.#options = options;
  }

  async missing(): Promise<Missing> {
    if (this.#look === undefined || this.#look.isOver()) {
      let endedAt = Number.POSITIVE_INFINITY;
      const missing = this.#check().finally(() => {
        endedAt = this.#options.monotonic();
      });
      this.#look = { missing, isOver: () => this.#options.monotonic() >= endedAt + HOLDS_MILLIS };
    }
    return await this.#look.missing;
  }

  async #check(): Promise<Missing> {
    const { checks, onFailed } = this.#options;
    const missing = new Map<string, string>();
    const look = async ([name, check]: readonly [string, () => Promise<void>]) => {
      try {
        await this.#inTime(check);
      } catch (error) {
        missing.set(name, error instanceof NotReady ? error.message : 'it cannot be used');
        onFailed(name, error);
      }
    };
    await Promise.all(Object.entries(checks).map(look));
    return missing;
  }

  async #inTime(check: () => Promise<void>): Promise<void> {
    using limit = new TimeLimit(CHECK_MILLIS_MAX, this.#options.sleep);
    try {
      await orAborted(check(), limit.signal);
    } catch (error) {
      if (!limit.signal.aborted) throw error;
      throw new NotReady(`it does not answer within ${CHECK_MILLIS_MAX / 1000} seconds`);
    }
  }
}
