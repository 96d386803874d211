/** How long a stored result is kept, a number of days from the end of its execution (specification §8), and what else is kept for a time. */
import { DAY_MILLIS, type Instant } from './instant.ts';

/** `retentionDays` may have a fraction. */
export function expiryOf(endedAt: Instant, retentionDays: number): Instant {
  return endedAt + Math.round(retentionDays * DAY_MILLIS);
}

/** How long it is told what became of a message to a webhook, once it has ended. */
export const DELIVERIES_KEPT_MILLIS = 7 * DAY_MILLIS;

/** How long the answer to a request with an idempotency key is given again (contract §9). */
export const IDEMPOTENCY_KEPT_MILLIS = DAY_MILLIS;
