/**
 * Drawing a sample: which rows, by position. A draw is a pure function of its seed, its total and its count, so the same seed
 * always draws the same rows. Few positions are drawn here; many are drawn by DuckDB (see `drawn-positions` in duckdb/), so that
 * no sample, however large, holds the event loop.
 *
 * The randomness is SplitMix64, whose outputs for one seed are all different: a permutation of the 64-bit numbers.
 */

export interface Draw {
  /** From 0 to 2⁶⁴ − 1. */
  readonly seed: bigint;
  /** How many positions; at most `total`. */
  readonly count: number;
  /** Positions are below it. */
  readonly total: number;
}

/** The constants of SplitMix64 (Steele, Lea and Flood, 2014): its step, and its two multipliers. */
export const SPLIT_MIX = {
  step: 0x9e3779b97f4a7c15n,
  multipliers: [0xbf58476d1ce4e5b9n, 0x94d049bb133111ebn],
} as const;

const UINT32 = 2 ** 32;

/** @param random uniform in [0, 1) */
export function randomSeed(random: () => number): bigint {
  const bits = () => BigInt(Math.floor(random() * UINT32));
  return (bits() << 32n) | bits();
}

/**
 * The positions, in ascending order; every subset of that size is equally likely (Floyd's algorithm, which draws exactly
 * `count` numbers). Takes about a millisecond for a thousand.
 */
export function samplePositions({ seed, count, total }: Draw): readonly number[] {
  const random = splitMix(seed);
  const chosen = new Set<number>();
  for (let bound = total - count; bound < total; bound += 1) {
    const position = Math.floor(random() * (bound + 1));
    chosen.add(chosen.has(position) ? bound : position);
  }
  return [...chosen].sort((a, b) => a - b);
}

/** Numbers uniform in [0, 1), with 53 random bits each. */
function splitMix(seed: bigint): () => number {
  let state = seed;
  return () => {
    state += SPLIT_MIX.step;
    let bits = BigInt.asUintN(64, state);
    bits = BigInt.asUintN(64, (bits ^ (bits >> 30n)) * SPLIT_MIX.multipliers[0]);
    bits = BigInt.asUintN(64, (bits ^ (bits >> 27n)) * SPLIT_MIX.multipliers[1]);
    bits ^= bits >> 31n;
    return Number(bits >> 11n) / 2 ** 53;
  };
}
