/**
 * Cron expressions in UTC: five fields, minute hour day-of-month month day-of-week. A pure matter of text and numbers: the
 * clock is somebody else's.
 *
 *     *   every value     1,15,30   a list     1-5   a range     3/15, 10-50/20   a step from a value, within a range
 *     jan-dec, sun-sat   names, in any case; day-of-week 0 and 7 are Sunday
 *
 * When both days are restricted (neither begins with an asterisk), a day matches that matches either, as cron has always had it.
 */
import { DAY_MILLIS, type Instant } from './instant.ts';

export interface Cron {
  /** Each field as the set of its values. */
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly daysOfMonth: ReadonlySet<number>;
  /** 1 to 12. */
  readonly months: ReadonlySet<number>;
  /** 0, Sunday, to 6. */
  readonly daysOfWeek: ReadonlySet<number>;
  /** A day must match either day field, rather than both. */
  readonly eitherDay: boolean;
}

export class CronError extends Error {}

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** How many values there are, where not each number is another: day-of-week 0 and 7 are both Sunday. */
  readonly count?: number;
  /** Names of the values from `min` on. */
  readonly names?: readonly string[];
}

const FIELDS: readonly [Field, Field, Field, Field, Field] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  {
    name: 'month',
    min: 1,
    max: 12,
    names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  { name: 'day of week', min: 0, max: 7, count: 7, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
];

const MINUTE = 60_000;
const MINUTES_PER_DAY = DAY_MILLIS / MINUTE;
/** A leap day that must fall on a given weekday comes back within 40 years (eight skipped by 2100). */
const DAYS_MAX = 41 * 366;

/** @throws CronError naming the field, what was found and what was expected; also when no day can ever match. */
export function parseCron(text: string): Cron {
  return readCron(text, false);
}

/**
 * Reads what somebody writes now: as `parseCron`, but a step beyond all values of its field is refused. It matches the first value alone, so that
 * 61 minutes would be an hour. What was written before that was checked is still read.
 * @throws CronError
 */
export function checkCron(text: string): Cron {
  return readCron(text, true);
}

function readCron(text: string, checksSteps: boolean): Cron {
  const parts = text.trim().split(/\s+/);
  const [minute, hour, dayOfMonth, month, dayOfWeek, more] = parts;
  if (dayOfWeek === undefined || more !== undefined) {
    throw new CronError(
      `cron "${text}": found ${text.trim() === '' ? 0 : parts.length} fields, expected 5: minute, hour, day of month, month, day of week`,
    );
  }
  const read = (field: Field, value = '') => parseField(text, { ...field, checksSteps }, value);
  const cron: Cron = {
    minutes: read(FIELDS[0], minute),
    hours: read(FIELDS[1], hour),
    daysOfMonth: read(FIELDS[2], dayOfMonth),
    months: read(FIELDS[3], month),
    daysOfWeek: new Set([...read(FIELDS[4], dayOfWeek)].map((day) => day % 7)),
    eitherDay: !dayOfMonth?.startsWith('*') && !dayOfWeek.startsWith('*'),
  };
  if (findTick(cron, 0, 1) === undefined) throw new CronError(`cron "${text}" matches no day at all`);
  return cron;
}

function parseField(
  text: string,
  field: Field & { readonly checksSteps: boolean },
  value: string,
): ReadonlySet<number> {
  const { name, min, max, count = max - min + 1, checksSteps } = field;
  const values = new Set<number>();
  for (const item of value.split(',')) {
    const match = /^(?:(\*)|([0-9]{1,2}|[a-z]{3})(?:-([0-9]{1,2}|[a-z]{3}))?)(?:\/([0-9]{1,2}))?$/i.exec(item);
    const [, all, first = '', last, stepText] = match ?? [];
    const step = stepText === undefined ? 1 : Number(stepText);
    const from = all === undefined ? fieldValue(field, first) : min;
    const lastGiven = last ?? (stepText === undefined ? first : undefined);
    const to = all !== undefined || lastGiven === undefined ? max : fieldValue(field, lastGiven);
    if (match === null || step === 0 || from === undefined || to === undefined || from > to) {
      throw new CronError(
        `cron "${text}", ${name}: found "${item}", expected *, a value from ${min} to ${max}, a range such as ${min}-${max} or a step such as */2`,
      );
    }
    if (checksSteps && step > count) {
      throw new CronError(
        `cron "${text}", ${name}: found a step of ${step}, expected at most ${count}, the number of values`,
      );
    }
    for (let at = from; at <= to; at += step) values.add(at);
  }
  return values;
}

function fieldValue(field: Field, text: string): number | undefined {
  const named = field.names?.indexOf(text.toLowerCase()) ?? -1;
  if (named >= 0) return field.min + named;
  const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  return value >= field.min && value <= field.max ? value : undefined;
}

/** The first tick after `instant`: a whole minute in UTC. */
export function nextTick(cron: Cron, instant: Instant): Instant {
  return getTick(cron, Math.floor(instant / MINUTE) * MINUTE + MINUTE, 1);
}

/** The last tick at or before `instant`. */
export function lastTick(cron: Cron, instant: Instant): Instant {
  return getTick(cron, Math.floor(instant / MINUTE) * MINUTE, -1);
}

function getTick(cron: Cron, from: Instant, direction: 1 | -1): Instant {
  const tick = findTick(cron, from, direction);
  if (tick === undefined) throw new CronError(`no tick within ${DAYS_MAX} days of ${new Date(from).toISOString()}`);
  return tick;
}

/** The nearest tick at `from`, a whole minute, or beyond it in `direction`: day by day, then within the day. */
function findTick(cron: Cron, from: Instant, direction: 1 | -1): Instant | undefined {
  let day = Math.floor(from / DAY_MILLIS) * DAY_MILLIS;
  let minute = Math.floor((from - day) / MINUTE);
  for (
    let days = 0;
    days < DAYS_MAX;
    days += 1, day += direction * DAY_MILLIS, minute = direction > 0 ? 0 : MINUTES_PER_DAY - 1
  ) {
    if (!matchesDay(cron, day)) continue;
    for (; minute >= 0 && minute < MINUTES_PER_DAY; minute += direction) {
      if (cron.hours.has(Math.floor(minute / 60)) && cron.minutes.has(minute % 60)) return day + minute * MINUTE;
    }
  }
  return undefined;
}

function matchesDay(cron: Cron, day: Instant): boolean {
  const date = new Date(day);
  if (!cron.months.has(date.getUTCMonth() + 1)) return false;
  const ofMonth = cron.daysOfMonth.has(date.getUTCDate());
  const ofWeek = cron.daysOfWeek.has(date.getUTCDay());
  return cron.eitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}
