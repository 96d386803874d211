/**
 * Looks at the clock while the service runs, and keeps the latest time that was seen in the catalog. So a jump of the clock is noticed, also
 * across a restart, and it is known for how long the service has run since.
 */
import type { Catalog } from '../catalog/catalog.ts';
import { type ClockDoubt, lookAtClock } from '../domain/clock-record.ts';
import type { Clock, Instant } from '../domain/instant.ts';
import { pause, type Sleep } from '../domain/time.ts';

export interface ClockWatchOptions {
  readonly catalog: Pick<Catalog, 'installation'>;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly onJump: (doubt: ClockDoubt) => void;
  readonly onError: (error: unknown) => void;
}

const PAUSE_MILLIS = 600_000;

/** Runs until the signal is aborted; the first look is at once. */
export async function watchClock(options: ClockWatchOptions, signal: AbortSignal): Promise<void> {
  const { sleep, onError } = options;
  const watch = new ClockWatch(options);
  while (!signal.aborted) {
    await watch.look().catch(onError);
    await pause(PAUSE_MILLIS, sleep, signal);
  }
}

/** The looks, without the waiting in between. */
export class ClockWatch {
  readonly #options: Omit<ClockWatchOptions, 'sleep' | 'onError'>;
  #previous: Instant | undefined;

  constructor(options: Omit<ClockWatchOptions, 'sleep' | 'onError'>) {
    this.#options = options;
  }

  async look(): Promise<void> {
    const { catalog, clock, onJump } = this.#options;
    const now = clock();
    const { doubt } = await catalog.installation.updateClock((before) => lookAtClock(before, now, this.#previous));
    this.#previous = now;
    if (doubt?.to === now) onJump(doubt);
  }
}
