/** How long a stored result is kept: a number of days from the end of its execution (specification §8). */
import { DAY_MILLIS, type Instant } from './instant.ts';

/** `retentionDays` may have a fraction. */
export function expiryOf(endedAt: Instant, retentionDays: number): Instant {
  return endedAt + Math.round(retentionDays * DAY_MILLIS);
}
