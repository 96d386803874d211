/** Writes sizes, counts and times for people. Never used for values of a result. */

const COUNT = new Intl.NumberFormat('en');
const WHEN = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
const DAY = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' });
const AGO = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const STEPS = [
  ['second', 60],
  ['minute', 60],
  ['hour', 24],
  ['day', 31],
  ['month', 12],
] as const;

export function count(value: number): string {
  return COUNT.format(value);
}

/** `1 row`, `2 rows` */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let rest = value;
  while (rest >= 1000 && units.length > 1) {
    rest /= 1000;
    units.shift();
  }
  return `${rest < 10 && units[0] !== 'B' ? rest.toFixed(1) : Math.round(rest)} ${units[0]}`;
}

export function when(instant: string): string {
  return `${WHEN.format(new Date(instant))} UTC`;
}

export function day(instant: string): string {
  return DAY.format(new Date(instant));
}

/** `3 minutes ago`, `in 2 months` */
export function ago(instant: string, now = Date.now()): string {
  let rest = (Date.parse(instant) - now) / 1000;
  for (const [unit, size] of STEPS) {
    if (Math.abs(rest) < size) return AGO.format(Math.round(rest), unit);
    rest /= size;
  }
  return AGO.format(Math.round(rest), 'year');
}

/** `450 ms`, `3.2 s`, `2 min` */
export function duration(millis: number): string {
  if (millis < 1000) return `${Math.round(millis)} ms`;
  if (millis < 120_000) return `${(millis / 1000).toFixed(1)} s`;
  return `${Math.round(millis / 60_000)} min`;
}
