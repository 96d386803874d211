/**
 * SQL of the positions of a draw. Few are drawn in JavaScript, which takes less time than planning the query. Many are drawn by
 * DuckDB: each position of the whole gets the SplitMix64 number of its own, and those with the smallest numbers are drawn. Every
 * order of independent numbers is equally likely, so every subset is; no two numbers of one seed are equal.
 *
 * Not DuckDB's own `hash` or `random`: what they give may change with its version, or with the number of threads.
 */
import { type Draw, SPLIT_MIX, samplePositions } from '../domain/sample.ts';
import type { Parameters } from './parameters.ts';

/** 1,000 take about a millisecond of the event loop. */
export const DRAWN_HERE_MAX = 1000;

const UINT64_MAX = '18446744073709551615::UHUGEINT';

/** SQL of a query for the positions, one column of BIGINT, in no order. */
export function drawnPositions(draw: Draw, parameters: Parameters): string {
  if (draw.count <= DRAWN_HERE_MAX) {
    const positions = samplePositions(draw).map(BigInt);
    return `SELECT unnest(${parameters.add(positions)}::BIGINT[])`;
  }
  return positionsBySmallestNumber(draw, parameters);
}

/** As `drawnPositions`, of any count: those with the smallest numbers, by DuckDB. */
export function positionsBySmallestNumber(draw: Draw, parameters: Parameters): string {
  const seed = `${parameters.add(draw.seed)}::UBIGINT`;
  const total = `${parameters.add(BigInt(draw.total))}::BIGINT`;
  const state = `${seed}::UHUGEINT + (range::UHUGEINT + 1) * ${SPLIT_MIX.step}::UHUGEINT`;
  const [first, second] = SPLIT_MIX.multipliers;
  const started = `SELECT range AS position, ((${state}) & ${UINT64_MAX})::UBIGINT AS bits FROM range(${total})`;
  const mixed = mix(mix(started, 30, first), 27, second);
  const numbered = `SELECT position, xor(bits, bits >> 31) AS number FROM (${mixed})`;
  const count = `${parameters.add(BigInt(draw.count))}::BIGINT`;
  const bound = boundOf(draw);
  if (bound === undefined) return `SELECT position FROM (${numbered}) ORDER BY number LIMIT ${count}`;
  // To compare each number with a bound takes less than to keep the smallest of all in order.
  const small = `SELECT * FROM (${numbered}) WHERE number < ${parameters.add(bound)}::UBIGINT`;
  const enough = `CASE WHEN count(*) < ${count} THEN error('a draw found too few positions') ELSE ${count} END`;
  return `WITH small AS MATERIALIZED (${small}) SELECT position FROM small ORDER BY number LIMIT (SELECT ${enough} FROM small)`;
}

/**
 * A number that more than `count` of `total` random numbers are below, but for one seed in 10³¹: twelve standard deviations
 * more are expected. Undefined where that would be nearly all of them.
 */
function boundOf({ count, total }: Draw): bigint | undefined {
  const expected = (6 + Math.sqrt(36 + count)) ** 2;
  return expected > total / 2 ? undefined : BigInt(Math.floor((expected / total) * 2 ** 53)) << 11n;
}

/** One round of SplitMix64's finisher: a product of 64-bit numbers, of which the lower 64 bits are kept. */
function mix(from: string, shift: number, multiplier: bigint): string {
  const product = `xor(bits, bits >> ${shift})::UHUGEINT * ${multiplier}::UHUGEINT`;
  return `SELECT position, ((${product}) & ${UINT64_MAX})::UBIGINT AS bits FROM (${from})`;
}
