/**
 * Whether the clock is to be believed. The latest time seen is kept, across restarts too; a clock that is more than a day away from it,
 * ahead or behind, has jumped, or the service was stopped for long: nobody can tell. So for the next day of running nothing is deleted
 * because of its age.
 */
import { DAY_MILLIS, type Instant } from './instant.ts';

export interface ClockRecord {
  readonly latestSeen: Instant;
  /** Of the latest jump, while the clock is not yet believed again. */
  readonly doubt?: ClockDoubt;
}

export interface ClockDoubt {
  readonly from: Instant;
  readonly to: Instant;
  /** So long the service must still run before the clock is believed. */
  readonly leftMillis: number;
}

/**
 * What is known after a look at the clock.
 * @param previous when this process looked last; what lies before its first look is not time in which it ran
 */
export function lookAtClock(before: ClockRecord | undefined, now: Instant, previous: Instant | undefined): ClockRecord {
  if (before === undefined) return { latestSeen: now };
  const { latestSeen, doubt } = before;
  if (Math.abs(now - latestSeen) > DAY_MILLIS) {
    return { latestSeen: now, doubt: { from: latestSeen, to: now, leftMillis: DAY_MILLIS } };
  }
  const seen = { latestSeen: Math.max(latestSeen, now) };
  if (doubt === undefined) return seen;
  // Where several processes look, the time since the last look of any is counted once.
  const ranMillis = previous === undefined ? 0 : Math.max(0, now - Math.max(latestSeen, previous));
  const leftMillis = doubt.leftMillis - ranMillis;
  return leftMillis > 0 ? { ...seen, doubt: { ...doubt, leftMillis } } : seen;
}
