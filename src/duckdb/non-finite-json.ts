/**
 * NaN and the infinities in JSON text. JSON has no such numbers (RFC 8259), but Python writes them, and DuckDB reads them and keeps them bare. In
 * values of type json they become strings, spelled as they stand, so that whoever parses the value can.
 */
import { quoteText } from './quoting.ts';

/** What may be one of them, as far as a regular expression can tell: a word of its own, which "finance" in a text is not. */
const BARE = '(?:^|[:,\\[]\\s*)\\s*-?(?i:nan|inf(?:inity)?)\\s*(?:[,\\]}]|$)';
/** All that stands before the next of them, strings whole: and then it. */
const NEXT = '((?:[^"A-Za-z-]|[eE]|-[0-9]|true|false|null|"(?:[^"\\\\]|\\\\.)*")*)(-?(?i:nan|inf(?:inity)?))';
/** Put behind the text, so that the last match always ends there and no string is searched; and its length once it is in quotes. */
const SENTINEL = 'NaN';
const SENTINEL_LENGTH = 5;

/** SQL: the JSON text `text` with them in quotes. */
export function quoteNonFinite(text: string): string {
  const quoted = `regexp_replace(${text} || '${SENTINEL}', ${quoteText(NEXT)}, '\\1"\\2"', 'g')`;
  const whole = `list_transform([${quoted}], lambda t: t[:-${SENTINEL_LENGTH + 1}])[1]`;
  return `CASE WHEN regexp_matches(${text}, ${quoteText(BARE)}) THEN ${whole} ELSE ${text} END`;
}
