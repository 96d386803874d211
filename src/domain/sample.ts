/** Drawing a sample: which rows, by position. */

/**
 * `count` different positions below `total`, in ascending order; every subset of that size is equally likely (Floyd's
 * algorithm, which draws exactly `count` numbers).
 * @param random uniform in [0, 1)
 */
export function samplePositions(count: number, total: number, random: () => number): readonly number[] {
  const chosen = new Set<number>();
  for (let bound = total - count; bound < total; bound += 1) {
    const position = Math.floor(random() * (bound + 1));
    chosen.add(chosen.has(position) ? bound : position);
  }
  return [...chosen].sort((a, b) => a - b);
}
