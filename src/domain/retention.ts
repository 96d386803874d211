/** How long a stored result is kept: a number of days from the end of its execution (specification §8). */
import type { Instant } from './instant.ts';

const DAY_MILLIS = 24 * 60 * 60 * 1000;

/** `retentionDays` may have a fraction. */
export function expiryOf(endedAt: Instant, retentionDays: number): Instant {
  return endedAt + Math.round(retentionDays * DAY_MILLIS);
}
