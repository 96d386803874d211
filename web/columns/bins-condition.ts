/** Writes the filter for some bins of a histogram. Edges are doubles, written without an exponent. */
import { Digits } from '../api/exact-json.ts';
import { quoteName, quoteText } from '../narrow/filter-text.ts';
import type { Bin } from './statistics.ts';

const WHOLE = /^(tinyint|smallint|integer|bigint|hugeint|uint256|int256)/;

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
  const upper = last === bins.length - 1 ? '<=' : '<';
  // The last edge is the greatest value, perhaps rounded down. No value lies beyond the last bin, so it needs no upper bound.
  const isOpen = last === bins.length - 1 && from instanceof Digits;
  return `${column} >= ${edgeText(from, type)}${isOpen ? '' : ` and ${column} ${upper} ${edgeText(to, type)}`}`;
}

function edgeText(edge: Bin['from'], type: string): string {
  if (!(edge instanceof Digits)) return quoteText(String(edge));
  const number = Number(edge.text);
  if (WHOLE.test(type)) return BigInt(Math.ceil(number)).toString();
  const text = String(number);
  if (!text.includes('e')) return text;
  return Math.abs(number) >= 1 ? BigInt(number).toString() : number.toFixed(20);
}
