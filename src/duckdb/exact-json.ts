/**
 * Digits that DuckDB's JSON functions would lose. Their parser keeps whole numbers of any length, but holds a number with a
 * fraction or an exponent as a double and prints that: 12345678901234567890.123456 becomes 12345678901234567000.0, and 1.50
 * becomes 1.5, and -0 becomes 0. Where that would happen, the text is given to them with every number wrapped: as a string that starts with a
 * mark, which passes through untouched and is unwrapped at the end.
 *
 * The mark is U+FDD0, one of the characters that Unicode keeps for use inside a program and out of all texts.
 */
import { quoteText } from './quoting.ts';

export const NUMBER_MARK = '\ufdd0';

/** What stands before a number in JSON text, as far as a regular expression can tell. */
const BEFORE = '[:,\\[\\s]-?';
/** 16 digits or more, or so near to 0 that a double may have fewer digits or none. With 15, it prints the same number elsewhere. */
const LONG = `${BEFORE}(?:[0-9.]{17}|[0-9]{16}[eE]|[0-9.]+[eE]-[0-9]{3})`;
const LONG_NUMBER = '[:,\\[\\s](-?(?:(?:[0-9.]{17,}|[0-9]{16})(?:[eE][-+]?[0-9]+)?|[0-9.]+[eE]-[0-9]{3,}))';
/** A number with a fraction or an exponent; or −0, which they take for 0. */
const REWRITTEN = `${BEFORE}[0-9]+(?:\\.[0-9]|[eE])|[:,\\[\\s]-0(?:[,\\]}\\s]|$)`;

/** All that stands before the next number, strings whole: and then the number. */
const NEXT_NUMBER = '((?:[^"0-9-]|-[^0-9]|"(?:[^"\\\\]|\\\\.)*")*)(-?[0-9]+(?:\\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)';
/** Of the number put behind the text, so that the last match always ends there: bytes of it once it is wrapped. */
const SENTINEL = '0';
const SENTINEL_LENGTH = 4;

/** SQL: whether DuckDB's functions would lose a digit of a number in the JSON text `text`. */
export function losesDigits(text: string): string {
  const long = (json: string) => `regexp_extract_all(${json}, ${quoteText(LONG_NUMBER)}, 1)`;
  // An escape could become something that looks like a number.
  const differs = `CASE WHEN contains(${text}, '\\') THEN ${isRewritten(text)} ELSE ${long(text)} <> ${long(reprinted(text))} END`;
  return `CASE WHEN regexp_matches(${text}, ${quoteText(LONG)}) THEN ${differs} ELSE false END`;
}

/** SQL: whether they would write a number in the JSON text `text` in another way, be it only 1.50 as 1.5. */
export function losesWriting(text: string): string {
  return `CASE WHEN regexp_matches(${text}, ${quoteText(REWRITTEN)}) THEN ${isRewritten(text)} ELSE false END`;
}

/** Blanks stand between tokens or inside of strings: without them, equal texts still have equal numbers. */
function isRewritten(text: string): string {
  return `replace(${text}, ' ', '') <> replace(${reprinted(text)}, ' ', '')`;
}

function reprinted(text: string): string {
  return `json_extract(CAST(${text} AS JSON), '$')::VARCHAR`;
}

/** SQL: the JSON text `text` with its numbers wrapped. */
export function wrapNumbers(text: string): string {
  const wrapped = `regexp_replace(${text} || '${SENTINEL}', ${quoteText(NEXT_NUMBER)}, '\\1"${NUMBER_MARK}\\2"', 'g')`;
  return `list_transform([${wrapped}], lambda t: t[:-${SENTINEL_LENGTH + 1}])[1]`;
}

/** SQL: whether `text`, JSON text, holds the mark already, as it is or escaped. */
export function hasNumberMark(text: string): string {
  return `(contains(${text}, '${NUMBER_MARK}') OR contains(lower(${text}), '\\ufdd0'))`;
}

/** SQL: JSON text with its wrapped numbers as they were written. */
export function unwrapNumbers(text: string): string {
  const unwrapped = `regexp_replace(${text}, '"${NUMBER_MARK}([^"]*)"', '\\1', 'g')`;
  return `CASE WHEN contains(${text}, '${NUMBER_MARK}') THEN ${unwrapped} ELSE ${text} END`;
}
