/** Tells how a view's rows are found, in a few words for `Server-Timing` and the log. */
import type { Column, ResultSet } from '../../domain/result-set.ts';
import type { AskedIndexes } from '../derived/indexes/result-indexes.ts';

/** Texts that a header and JSON take without quoting. */
const PLAIN = /^[A-Za-z0-9_][A-Za-z0-9_ .-]{0,39}$/;

/** The way: by indexes alone, by indexes and a check of what they found, by a materialised view, or by a search; and why. */
export function wayOf(
  asked: AskedIndexes | undefined,
  isFound: boolean,
  { columns }: ResultSet,
  otherwise: string,
): string {
  const names = asked?.columns.map(({ index }) => nameOf(columns, index)).join(', ');
  if (asked === undefined || names === undefined) return otherwise;
  if (!isFound)
    return asked.kind === 'none'
      ? `${otherwise}: ${asked.why}`
      : `${otherwise}: rows lie too far apart or are too large`;
  const way = names === '' ? 'index' : `index ${names}`;
  return asked.kind === 'candidates' ? `${way}, rows checked` : way;
}

function nameOf(columns: readonly Column[], index: number): string {
  const name = columns[index]?.name ?? '';
  return PLAIN.test(name) ? name : `column ${index + 1}`;
}
