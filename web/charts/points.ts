/**
 * Turns rows into what is drawn: points or bars. Only here do numbers become doubles: a picture shows where a value lies, not its
 * digits.
 */
import type { Column } from '../api/answers.ts';
import { Digits, type ExactJson, formatExact } from '../api/exact-json.ts';
import { cellText, isNumberType, isTimeType } from '../table/cell-text.ts';
import type { Row } from '../table/row-pages.ts';
import type { Chart } from './choose-chart.ts';

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Bar {
  readonly label: string;
  readonly from: number;
  readonly to: number;
  readonly y: number;
}

export type Drawn =
  | { readonly kind: 'points'; readonly points: readonly Point[]; readonly isTime: boolean }
  | { readonly kind: 'bars'; readonly bars: readonly Bar[]; readonly isTime: boolean; readonly isNamed: boolean };

const BINS = 40;
const BARS_MAX = 30;

export function drawnOf(chart: Chart, columns: readonly Column[], rows: readonly Row[]): Drawn {
  const at = (name: string) => columns.findIndex((column) => column.name === name);
  // Without a name, `y` is the count of rows, also where a column has no name.
  const [x, y] = [at(chart.x), chart.y === '' ? -1 : at(chart.y)];
  const type = columns[x]?.type ?? '';
  const isTime = isTimeType(type);
  const hasPlace = isTime || isNumberType(type);
  if (chart.kind === 'histogram' && hasPlace) {
    const places = rows.map((row) => place(row[x] ?? null, type)).filter(Number.isFinite);
    return { kind: 'bars', bars: binned(places), isTime, isNamed: false };
  }
  if (chart.kind === 'bar' || !hasPlace)
    return { kind: 'bars', bars: named(rows, x, y, columns), isTime: false, isNamed: true };
  const points = rows
    .map((row) => ({ x: place(row[x] ?? null, type), y: place(row[y] ?? null, columns[y]?.type ?? '') }))
    .filter((point) => Number.isFinite(point.x) && Number.isFinite(point.y));
  return { kind: 'points', points: chart.kind === 'scatter' ? points : points.toSorted((a, b) => a.x - b.x), isTime };
}

/** The position of a value on its axis; NaN if it has none. */
export function place(value: ExactJson, type: string): number {
  if (value instanceof Digits) return Number(value.text);
  if (typeof value !== 'string') return Number.NaN;
  if (isNumberType(type)) return Number(value);
  // A time of day lies on one day.
  const dated = /^time\b/.test(type) ? `1970-01-01 ${value}` : value;
  const [day = '', time = '00:00:00'] = dated.replace(/ UTC$/, '').split(' ');
  const [, clock = '', hours = '+00', minutes = ':00'] = /^([^+-]*)([+-]\d\d)?(:\d\d)?/.exec(time) ?? [];
  return Date.parse(`${day}T${clock.slice(0, 12)}${hours}${minutes}`);
}

function binned(places: readonly number[]): readonly Bar[] {
  if (places.length === 0) return [];
  const low = places.reduce((least, one) => Math.min(least, one), Number.POSITIVE_INFINITY);
  const high = places.reduce((most, one) => Math.max(most, one), Number.NEGATIVE_INFINITY);
  // Doubles may lie further apart than a double can hold: then all is halved.
  const by = Number.isFinite(high - low) ? 1 : 2;
  const width = (high / by - low / by) / BINS || 1;
  const counts = Array.from({ length: BINS }, () => 0);
  for (const one of places) {
    const bin = Math.min(BINS - 1, Math.floor((one / by - low / by) / width));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  const edge = (bin: number) => finite((low / by + bin * width) * by);
  return counts.map((y, bin) => ({ label: '', from: edge(bin), to: edge(bin + 1), y }));
}

/** A sum of so many doubles that are divided by it is none that a double cannot hold. */
const SHRUNK = 2 ** 20;

/** @param small the sum of the same values divided by `SHRUNK`, less exact where they are tiny */
function mean({ sum, small }: { readonly sum: number; readonly small: number }, rows: number): number {
  return Number.isFinite(sum) ? sum / rows : finite((small / rows) * SHRUNK);
}

/** Rounding may lead a little beyond the greatest double. */
function finite(value: number): number {
  return Math.min(Number.MAX_VALUE, Math.max(-Number.MAX_VALUE, value));
}

/**
 * A bar for each value of `x`, the highest first. Its height is the mean of `y` (which a sample estimates; a sum it would not), or the
 * count of rows.
 */
function named(rows: readonly Row[], x: number, y: number, columns: readonly Column[]): readonly Bar[] {
  // By the whole value: of a long one the label is a part, and null has the label of a text.
  const groups = new Map<string, { label: string; sum: number; small: number; rows: number }>();
  for (const row of rows) {
    const value = row[x] ?? null;
    const added = y < 0 ? 0 : place(row[y] ?? null, columns[y]?.type ?? '');
    if (!Number.isFinite(added)) continue;
    const key = formatExact(value);
    const group = groups.get(key) ?? { label: cellText(value, columns[x]?.type ?? '').text, sum: 0, small: 0, rows: 0 };
    const { sum, small } = group;
    groups.set(key, { ...group, sum: sum + added, small: small + added / SHRUNK, rows: group.rows + 1 });
  }
  const heights = [...groups.values()].map(
    ({ label, rows, ...sums }) => [label, y < 0 ? rows : mean(sums, rows)] as const,
  );
  const highest = heights.toSorted(([, a], [, b]) => b - a).slice(0, BARS_MAX);
  return highest.map(([label, height], index) => ({ label, from: index, to: index + 1, y: height }));
}
