/**
 * A point in time as milliseconds since 1970-01-01T00:00:00Z. The clock is always passed in (see main.ts), so that
 * every rule about time can be tested by handing it another number.
 */
export type Instant = number;

export type Clock = () => Instant;

/**
 * The clocks of one installation are at most so far apart. A time that is further ahead of now was written by a clock that was
 * wrong, and is not believed.
 */
export const CLOCKS_APART_MILLIS = 5 * 60_000;

/** Of every day in UTC, since an instant knows no leap seconds. */
export const DAY_MILLIS = 86_400_000;

/** The longest that a lease holds without being renewed. */
export const LEASE_MILLIS_MAX = DAY_MILLIS;

/** Whether it is less than so long ago. A clock that was set back says nothing about how long ago that was. */
export function isRecent(then: Instant, now: Instant, millis: number): boolean {
  return Math.abs(now - then) < millis;
}

/** Whether what holds until `expiresAt` holds no more: from that moment on. Undefined: it holds for ever. */
export function isExpired(expiresAt: Instant | undefined, now: Instant): boolean {
  return expiresAt !== undefined && now >= expiresAt;
}

/** RFC 3339 in UTC with six fractional digits (contract §3): `2024-03-05T20:50:59.123000Z`. */
export function formatInstant(instant: Instant): string {
  return `${new Date(instant).toISOString().slice(0, -1)}000Z`;
}

/** The day in UTC: `2024-03-05`. */
export function dayOf(instant: Instant): string {
  return new Date(instant).toISOString().slice(0, 10);
}

/** The beginning of a day written as `2024-03-05`, or undefined for what is no day of the calendar. */
export function startOfDay(day: string): Instant | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(day)) return undefined;
  const start = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(start) || dayOf(start) !== day ? undefined : start;
}

const WRITTEN = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d(?:\.\d{1,9})?))?)? ?(Z|UTC|[+-]\d\d:\d\d)?$/i;

/**
 * A time as people and programs write it: `2024-03-05`, `2024-03-05 20:50`, `2024-03-05T20:50:59.123Z`, with what is missing zero, in UTC
 * unless it says otherwise. Undefined for what is no time of the calendar.
 */
export function parseInstant(text: string): Instant | undefined {
  const [, day = '', minute = '00:00', second = '00', zone = 'Z'] = WRITTEN.exec(text) ?? [];
  if (startOfDay(day) === undefined) return undefined;
  const instant = Date.parse(`${day}T${minute}:${second}${/^utc$/i.test(zone) ? 'Z' : zone.toUpperCase()}`);
  return Number.isNaN(instant) ? undefined : instant;
}
