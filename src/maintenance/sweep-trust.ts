/**
 * When a sweep is not to be trusted with what it would delete: the clock has jumped, the catalog is damaged, or more would go than a
 * sweep usually takes. Then it stops and says how to go on; a person who has looked may confirm it.
 */

import type { Catalog } from '../catalog/catalog.ts';
import { type ClockDoubt, lookAtClock } from '../domain/clock-record.ts';
import { counted } from '../domain/counted.ts';
import { formatInstant, type Instant } from '../domain/instant.ts';

/** The sweep did not delete what it would have; the message says why and how to go on. */
export class SweepStopped extends Error {}

export interface SweepTrust {
  /** The largest share of all stored objects that may be deleted though no result of theirs has expired. */
  readonly shareMax: number;
  /** Whether a person has looked, and says that it is well. */
  readonly confirmed: boolean;
}

/** Up to so many objects are deleted in any case: of a small store they are a large share. */
const OBJECTS_MIN = 100;
const HOUR_MILLIS = 3_600_000;
const CONFIRM = '`qrs sweep --yes` deletes all the same';

/** Catalogs that this process has found sound. */
const sound = new WeakSet<object>();

/** @throws SweepStopped while the clock is not believed; confirmed, it is believed from now on */
export async function requireClock(
  { installation }: Pick<Catalog, 'installation'>,
  now: Instant,
  { confirmed }: SweepTrust,
): Promise<void> {
  const before = await installation.findClock();
  // Time in which the service runs is counted by clock-watch.ts; here only a jump is news.
  const { doubt } = lookAtClock(before, now, undefined);
  if (before !== undefined && doubt === undefined) return;
  if (confirmed) await installation.updateClock(() => ({ latestSeen: now }));
  else if (before === undefined || doubt?.to === now) {
    await installation.updateClock((latest) => lookAtClock(latest, now, undefined));
  }
  if (doubt !== undefined && !confirmed) throw new SweepStopped(`nothing is deleted: ${describeClockDoubt(doubt)}`);
}

/** In words for the log, the doctor and the sweep. */
export function describeClockDoubt({ from, to, leftMillis }: ClockDoubt): string {
  const hours = Math.ceil(leftMillis / HOUR_MILLIS);
  return `the clock went from ${formatInstant(from)} to ${formatInstant(to)}, by a wrong clock or a long stop, so nothing is deleted until the service has run for ${counted(hours, 'more hour')}; if the clock is right, ${CONFIRM}`;
}

/** @throws SweepStopped when what the catalog has stored is damaged: a result that it lost would look like a leftover */
export async function requireSound(catalog: Pick<Catalog, 'verify'>, again: boolean): Promise<void> {
  if (sound.has(catalog) && !again) return;
  try {
    await catalog.verify();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SweepStopped(`nothing is deleted: ${reason}; restore the catalog from a backup`, { cause: error });
  }
  sound.add(catalog);
}

/** @param unexpected objects that would be deleted though their result has not expired */
export function isTooMuch(unexpected: number, stored: number, { shareMax, confirmed }: SweepTrust): boolean {
  return !confirmed && unexpected > Math.max(OBJECTS_MIN, Math.floor(stored * shareMax));
}

export function tooMuch(unexpected: number, stored: number): SweepStopped {
  return new SweepStopped(
    `${unexpected} of ${counted(stored, 'stored object')} are left alone, though no result in the catalog has them: so many look more like a catalog that lost its results than like leftovers. Look at it with \`qrs doctor\`; ${CONFIRM}`,
  );
}
