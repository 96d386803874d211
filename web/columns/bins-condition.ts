/** Writes the filter for some bins of a histogram, so that all bins together have each value once. */
import { Digits } from '../api/exact-json.ts';
import { quoteName, quoteText } from '../narrow/filter-text.ts';
import type { Bin } from './statistics.ts';

const WHOLE = /^(tinyint|smallint|integer|bigint|hugeint|uint256|int256)/;
const DOUBLE = /^(real|double)$/;

/** @param first, last indexes of bins, both included */
export function binsCondition(
  name: string,
  type: string,
  bins: readonly Bin[],
  first: number,
  last: number,
): string | undefined {
  const [from, to] = [bins[first]?.from, bins[last]?.to];
  if (from === undefined || to === undefined) return undefined;
  const column = quoteName(name);
  const isEnd = last === bins.length - 1;
  // Edges are doubles: the least and the greatest value of another type may be rounded, and lie beyond them. Of doubles, NaN and the
  // infinities are in no bin.
  const isExact = DOUBLE.test(type);
  const lower = first > 0 || isExact ? [`${column} >= ${edgeText(from, type)}`] : [];
  const upper = !isEnd || isExact ? [`${column} ${isEnd ? '<=' : '<'} ${edgeText(to, type)}`] : [];
  return [...lower, ...upper].join(' and ') || `${column} is not null`;
}

function edgeText(edge: Bin['from'], type: string): string {
  if (!(edge instanceof Digits)) return quoteText(String(edge));
  return WHOLE.test(type) ? BigInt(Math.ceil(Number(edge.text))).toString() : edge.text;
}
