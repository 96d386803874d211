/** Places ticks along an axis at round numbers or round times. */

const SECOND = 1000;
const DAY = 86_400 * SECOND;
const TIME_STEPS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 43_200].map((seconds) => seconds * SECOND);

export interface Extent {
  readonly low: number;
  readonly high: number;
}

/** From 0 at the low end to 1 at the high one. */
export function placeAmong({ low, high }: Extent, value: number): number {
  // Doubles may lie further apart than a double can hold.
  const by = Number.isFinite(high - low) ? 1 : 2;
  return (value / by - low / by) / (high / by - low / by || 1);
}

export function ticks(low: number, high: number, about: number): readonly number[] {
  const rough = high / about - low / about || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough) ?? rough;
  return along(low, high, step);
}

export function timeTicks(low: number, high: number, about: number): readonly number[] {
  const rough = (high - low) / about || 1;
  const step = TIME_STEPS.find((one) => one >= rough);
  if (step !== undefined) return along(low, high, step);
  return ticks(low / DAY, high / DAY, about).map((day) => day * DAY);
}

export function numberLabel(value: number): string {
  const size = Math.abs(value);
  // Beyond these, the short form has all its zeros.
  const notation = size >= 1e15 || (size > 0 && size < 1e-6) ? 'scientific' : 'compact';
  return new Intl.NumberFormat('en', { notation, maximumSignificantDigits: 4 }).format(value);
}

/** The shortest label that tells neighbouring ticks apart. */
export function timeLabel(at: number, step: number): string {
  const text = new Date(at).toISOString();
  return step >= DAY ? text.slice(0, 10) : text.slice(11, step >= 60 * SECOND ? 16 : 19);
}

function along(low: number, high: number, step: number): readonly number[] {
  const first = Math.ceil(low / step);
  const count = Math.min(50, Math.max(0, Math.floor(high / step) - first + 1));
  return Array.from({ length: count }, (_, index) => (first + index) * step);
}
