/** Tells how a view's rows are found, in a few words for `Server-Timing` and the log. */
import { counted } from '../../domain/counted.ts';
import type { Column, ResultSet } from '../../domain/result-set.ts';
import type { AskedIndexes } from '../derived/indexes/result-indexes.ts';
import type { Searched } from './part-exclusion.ts';

/** Texts that a header and JSON take without quoting. */
const PLAIN = /^[A-Za-z0-9_][A-Za-z0-9_ .-]{0,39}$/;

export interface TakenWay {
  /** What indexes answered, if they were asked. */
  readonly asked: AskedIndexes | undefined;
  readonly isFound: boolean;
  readonly resultSet: ResultSet;
  /** What Bloom filters left to be searched, if they were asked. */
  readonly left?: Searched['left'];
}

/**
 * The way: by indexes alone, by indexes and a check of what they found, by a materialised view, or by a search; and why. Or there was nothing
 * to search, as Bloom filters told.
 */
export function wayOf({ asked, isFound, resultSet: { columns }, left }: TakenWay, otherwise = 'search'): string {
  const names = asked?.columns.map(({ index }) => nameOf(columns, index)).join(', ');
  if (isFound && asked !== undefined) {
    const way = names === '' ? 'index' : `index ${names}`;
    return asked.kind === 'candidates' ? `${way}, rows checked` : way;
  }
  if (left?.parts === 0) return `bloom filter: in none of ${counted(left.of, 'part')}`;
  const why = asked?.kind === 'none' ? asked.why : 'rows lie too far apart or are too large';
  const way = asked === undefined ? otherwise : `${otherwise}: ${why}`;
  return left === undefined ? way : `${way}; bloom filter: in ${left.parts} of ${counted(left.of, 'part')}`;
}

function nameOf(columns: readonly Column[], index: number): string {
  const name = columns[index]?.name ?? '';
  return PLAIN.test(name) ? name : `column ${index + 1}`;
}
