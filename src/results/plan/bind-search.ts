/**
 * The text of `search` → a predicate: the columns whose values may contain it, decided by their types. What a value's text is:
 * `plainText` (json-value.ts), which is what CSV shows. Decision 36 says why these types, and why this case folding.
 */
import { type ColumnType, isNested } from '../../domain/column-type.ts';
import type { Column } from '../../domain/result-set.ts';
import { RequestError } from '../../errors/errors.ts';
import type { Predicate } from './predicate.ts';

/** In code units. */
const SEARCH_LENGTH_MAX = 1_000;

/**
 * A row matches if one of its values contains the text.
 * @throws RequestError invalid_parameter
 */
export function bindSearch(text: string, columns: readonly Column[]): Predicate {
  if (text.length > SEARCH_LENGTH_MAX) {
    const problem = `search: found a text of ${text.length} characters, expected at most ${SEARCH_LENGTH_MAX}`;
    throw new RequestError('invalid_parameter', problem);
  }
  const folded = foldAscii(text);
  const searched = columns.flatMap(({ type }, index) => (mayContain(type, folded) ? [{ index, type }] : []));
  return searched.length === 0 ? { kind: 'unknown' } : { kind: 'search', text, columns: searched };
}

/** All characters that fold to a letter of ASCII: two others do, the dotted I and the sign for kelvin. */
function foldAscii(text: string): string {
  return text
    .replaceAll('\u0130', 'i')
    .replaceAll('\u212a', 'k')
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** @param folded in lower case, as far as it is ASCII */
function mayContain(type: ColumnType, folded: string): boolean {
  switch (type.kind) {
    case 'varchar':
    case 'json':
    case 'interval':
      return true;
    case 'varbinary':
      return /^0?x?[0-9a-f]*$/.test(folded);
    case 'uuid':
      return /^[-0-9a-f]*$/.test(folded);
    case 'tinyint':
    case 'smallint':
    case 'integer':
    case 'bigint':
    case 'hugeint':
    case 'uint256':
    case 'int256':
      return hasDigit(folded) && /^-?[0-9]*$/.test(folded);
    case 'decimal':
      return hasDigit(folded) && /^-?[0-9]*\.?[0-9]*$/.test(folded);
    case 'real':
    case 'double':
      return hasDigit(folded) && /^[-+.e0-9]*$/.test(folded);
    case 'date':
    case 'time':
    case 'timestamp':
      return hasDigit(folded) && /^[-+:. 0-9utc]*$/.test(folded);
    case 'array':
      return !isNested(type.element) && mayContain(type.element, folded);
    case 'boolean':
    case 'map':
    case 'row':
      return false;
    default:
      return type satisfies never;
  }
}

/** The letters that numbers and times have, such as the `e` of 1e300 and those of `UTC`, alone find nothing: they would find nearly all. */
function hasDigit(text: string): boolean {
  return /[0-9]/.test(text);
}
