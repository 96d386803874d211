/** Chance that a seed repeats. */

/** A whole number from 0 to n − 1. */
export type Below = (n: number) => number;

/** mulberry32 */
export function random(seed: number): Below {
  let state = seed >>> 0;
  return (n) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}
