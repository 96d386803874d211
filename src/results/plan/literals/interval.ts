/**
 * Intervals as text, `3 days` or `1 year 2 months -04:05:06.789`, read as their length: a month is 30 days, a day 24 hours.
 * (DuckDB compares month by month, then day by day, and so puts `1 month -29 days` after `2 days`.)
 */

import { DAY_MILLIS } from '../../../domain/instant.ts';
import { type Reading, unreadable } from './reading.ts';

const UNIT_MICROS: ReadonlyMap<string, bigint> = new Map([
  ['microsecond', 1n],
  ['millisecond', 1_000n],
  ['second', 1_000_000n],
  ['minute', 60_000_000n],
  ['hour', 3_600_000_000n],
  ['day', BigInt(DAY_MILLIS) * 1000n],
  ['week', 604_800_000_000n],
  ['month', 2_592_000_000_000n],
  ['year', 31_104_000_000_000n],
]);

const TERM = /\s*(?:([+-]?\d{1,18})\s+([a-z]+)|([+-]?)(\d{1,9}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)(?=\s|$)/iy;
/** Terms of one interval: `3 days` is one, `04:05:06` another. */
const TERMS_MAX = 16;
const EXPECTED = "an interval such as '3 days' or '1 month 2 days 04:05:06'";

/** In microseconds; any literal fits into 128 bits. */
export function readInterval(text: string): Reading {
  const trimmed = text.trim();
  let micros = 0n;
  let at = 0;
  for (let terms = 0; at < trimmed.length || terms === 0; terms += 1) {
    TERM.lastIndex = at;
    const match = TERM.exec(trimmed);
    if (match === null || terms === TERMS_MAX) return unreadable(EXPECTED);
    at = TERM.lastIndex;
    const [, count, word = ''] = match;
    const unit = UNIT_MICROS.get(word.toLowerCase().replace(/s$/, ''));
    if (count === undefined) micros += clockMicros(match);
    else if (unit === undefined) return unreadable(EXPECTED, `There is no unit "${word.slice(0, 20)}".`);
    else micros += BigInt(count) * unit;
  }
  return { kind: 'value', value: micros };
}

function clockMicros(match: RegExpExecArray): bigint {
  const [, , , sign, hours = '0', minutes = '0', seconds = '0', fraction = ''] = match;
  const whole = BigInt(hours) * 3600n + BigInt(minutes) * 60n + BigInt(seconds);
  const micros = whole * 1_000_000n + BigInt(fraction.padEnd(6, '0'));
  return sign === '-' ? -micros : micros;
}
