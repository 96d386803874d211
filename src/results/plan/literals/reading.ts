/**
 * A literal, read as a column's type. Many types hold only points: whole numbers, days, microseconds. A literal between two
 * points, or beyond the last one, is still compared exactly: `tinyint < 1000` is true, `bigint = 1.5` is false, `day < '2024-03-05
 * 12:00'` includes the 5th.
 */
import type { Value } from '../predicate.ts';

export type Reading =
  | { readonly kind: 'value'; readonly value: Value }
  /** After the point `below` and before the next one. */
  | { readonly kind: 'between'; readonly below: bigint }
  /** Less, or more, than all finite values of the type. */
  | { readonly kind: 'beyond'; readonly side: 'below' | 'above' }
  | Unreadable;

export interface Unreadable {
  readonly kind: 'unreadable';
  /** Completes "expected …": `a date such as '2024-03-05'`. */
  readonly expected: string;
  /** A sentence on what is wrong, where that is more than its form. */
  readonly reason: string | undefined;
}

export function unreadable(expected: string, reason?: string): Unreadable {
  return { kind: 'unreadable', expected, reason };
}

/** The points from `min` to `max`; `exact` tells whether the literal is the point `floor` or lies after it. */
export function placeOnPoints(floor: bigint, exact: boolean, min: bigint, max: bigint): Reading {
  if (floor < min) return { kind: 'beyond', side: 'below' };
  if (floor > max || (floor === max && !exact)) return { kind: 'beyond', side: 'above' };
  return exact ? { kind: 'value', value: floor } : { kind: 'between', below: floor };
}
