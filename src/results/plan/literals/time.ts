/**
 * Dates and times as text, read as each type that holds them. A time without a zone is UTC; what is missing on the right is
 * zero: `2024-03-05`, `2024-03-05 15:03`, `2024-03-05T15:03:07.5Z`, `2024-03-05 15:03:07 +02:00`.
 */
import { DAY_MILLIS } from '../../../domain/instant.ts';
import { placeOnPoints, type Reading, unreadable } from './reading.ts';

const CLOCK = String.raw`(\d{1,2})(?::(\d{2})(?::(\d{2})(?:\.(\d+))?)?)?`;
const ZONE = String.raw`(?:\s*(z|utc|[+-]\d{2}(?::?\d{2})?))?`;
const INSTANT = new RegExp(String.raw`^(\d{4})-(\d{1,2})-(\d{1,2})(?:[ t]+${CLOCK}${ZONE})?$`, 'i');
const TIME = new RegExp(`^${CLOCK}${ZONE}$`, 'i');

const SECOND_NANOS = 1_000_000_000n;
const MICRO_NANOS = 1_000n;
const DAY_NANOS = BigInt(DAY_MILLIS) * 1_000n * MICRO_NANOS;
const DAY_MICROS = DAY_NANOS / MICRO_NANOS;
const INT64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };

const TIME_EXPECTED = "a time such as '15:03' or '15:03:07.5'";
const MONTHS = 'January February March April May June July August September October November December'.split(' ');

/** A count of nanoseconds, and whether digits after them were left out. */
interface Nanos {
  readonly nanos: bigint;
  readonly exact: boolean;
}

const UNIT_NANOS = { day: DAY_NANOS, microsecond: MICRO_NANOS, nanosecond: 1n } as const;

/** A point in time, in whole units since 1970-01-01T00:00:00Z. */
export function readInstant(text: string, unitName: keyof typeof UNIT_NANOS): Reading {
  const expected =
    unitName === 'day' ? "a date such as '2024-03-05'" : "a date or time such as '2024-03-05' or '2024-03-05 15:03:07'";
  const match = INSTANT.exec(text.trim());
  if (match === null) return unreadable(expected);
  const [, year, month, day, hour = '0', minute, second, fraction, zone] = match;
  const days = daysSince1970(Number(year), Number(month), Number(day));
  if (typeof days === 'string') return unreadable(expected, days);
  const clock = clockNanos(hour, minute, second, fraction);
  if (typeof clock === 'string') return unreadable(expected, clock);
  const offset = zoneMinutes(zone);
  if (offset === undefined) return unreadable(expected, 'The offset of a zone is at most 15:59.');
  const nanos = BigInt(days) * DAY_NANOS + clock.nanos - BigInt(offset) * 60n * SECOND_NANOS;
  const unit = UNIT_NANOS[unitName];
  const floor = floorDivide(nanos, unit);
  return placeOnPoints(floor, clock.exact && floor * unit === nanos, INT64.min, INT64.max);
}

/** A time of day, to the microsecond. */
export function readTime(text: string): Reading {
  const match = TIME.exec(text.trim());
  if (match === null || match[5] !== undefined) return unreadable(TIME_EXPECTED);
  const clock = clockNanos(match[1] ?? '', match[2], match[3], match[4]);
  if (typeof clock === 'string') return unreadable(TIME_EXPECTED, clock);
  const floor = clock.nanos / MICRO_NANOS;
  return placeOnPoints(floor, clock.exact && floor * MICRO_NANOS === clock.nanos, 0n, DAY_MICROS);
}

/** A time of day with the zone it is told in; UTC when none is. */
export function readZonedTime(text: string): Reading {
  const expected = "a time with a zone such as '15:03:07+02:00'";
  const match = TIME.exec(text.trim());
  if (match === null) return unreadable(expected);
  const [, hour = '', minute, second, fraction, zone] = match;
  const clock = clockNanos(hour, minute, second, fraction);
  if (typeof clock === 'string') return unreadable(expected, clock);
  const offset = zoneMinutes(zone);
  if (offset === undefined) return unreadable(expected, 'The offset of a zone is at most 15:59.');
  if (!clock.exact || clock.nanos % MICRO_NANOS !== 0n) {
    return unreadable(expected, 'A second has at most six decimals.');
  }
  const size = Math.abs(offset);
  const zoneText = `${offset < 0 ? '-' : '+'}${pad(Math.floor(size / 60), 2)}:${pad(size % 60, 2)}`;
  return { kind: 'value', value: `${formatTime(clock.nanos / MICRO_NANOS)}${zoneText}` };
}

/** `15:03:07.500000` */
export function formatTime(micros: bigint): string {
  const seconds = micros / 1_000_000n;
  const clock = [seconds / 3600n, (seconds / 60n) % 60n, seconds % 60n].map((part) => pad(part, 2)).join(':');
  return `${clock}.${pad(micros % 1_000_000n, 6)}`;
}

/** The number of days, or a sentence that says why there is no such date. */
function daysSince1970(year: number, month: number, day: number): number | string {
  const name = MONTHS[month - 1];
  if (name === undefined) return 'A month is 1 to 12.';
  // setUTCFullYear takes the years 0 to 99 as they are; Date.UTC would add 1900. Day 0 is the last day of the month before.
  const length = new Date(new Date(0).setUTCFullYear(year, month, 0)).getUTCDate();
  if (day < 1 || day > length) return `${name} ${year} has ${length} days.`;
  return new Date(0).setUTCFullYear(year, month - 1, day) / DAY_MILLIS;
}

function clockNanos(hour: string, minute = '0', second = '0', fraction = ''): Nanos | string {
  if (Number(hour) > 23) return 'An hour is 0 to 23.';
  if (Number(minute) > 59) return 'A minute is 0 to 59.';
  if (Number(second) > 59) return 'A second is 0 to 59.';
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second);
  return {
    nanos: BigInt(seconds) * SECOND_NANOS + BigInt(fraction.slice(0, 9).padEnd(9, '0')),
    exact: /^0*$/.test(fraction.slice(9)),
  };
}

function zoneMinutes(zone: string | undefined): number | undefined {
  if (zone === undefined || /^(z|utc)$/i.test(zone)) return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(3).replace(':', ''));
  if (hours > 15 || minutes > 59) return undefined;
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
}

function floorDivide(value: bigint, unit: bigint): bigint {
  const quotient = value / unit;
  return value < 0n && quotient * unit !== value ? quotient - 1n : quotient;
}

function pad(value: number | bigint, length: number): string {
  return String(value).padStart(length, '0');
}
