/**
 * Advice for tokens that people bring along from SQL and from programming languages: why they cannot stand here, and what to write
 * instead. It looks only at the tokens next to the one in question.
 */
import { nearest } from '../domain/nearest.ts';
import type { Problem, Source } from './expression-error.ts';
import { isReserved } from './keywords.ts';
import type { Token } from './tokenize.ts';

export interface Advice {
  readonly problem: Problem & ('syntax' | 'unsupported');
  readonly advice?: string | undefined;
}

const syntax = (advice: string): Advice => ({ problem: 'syntax', advice });
const unsupported = (advice: string): Advice => ({ problem: 'unsupported', advice });

const SMART_QUOTE = syntax(`Use straight quotes: '…' around a text, "…" around a column name.`);
const CALCULATION = unsupported('Nothing is calculated here: compare a column with a value or with another column.');
const REGULAR_EXPRESSION = unsupported(
  `There are no regular expressions here: use like, for example name like '%USDC%'.`,
);
const COMMENT = unsupported('There are no comments here.');
const PLACEHOLDER = unsupported('There are no placeholders here: write the value itself.');
const NAME_QUOTES = syntax('A column name that needs quotes has double quotes: "special name".');

const FILTER_MARKS: ReadonlyMap<string, Advice> = new Map([
  ['==', syntax('Did you mean "="?')],
  ['===', syntax('Did you mean "="?')],
  ['=>', syntax('Did you mean ">="?')],
  ['=<', syntax('Did you mean "<="?')],
  ['&&', syntax('Did you mean "and"?')],
  ['&', syntax('Did you mean "and"?')],
  ['||', syntax('Did you mean "or"?')],
  ['|', syntax('Did you mean "or"?')],
  ['!', syntax('Did you mean "not" or "!="?')],
  [',', syntax('Did you mean "and" or "or"?')],
]);

const MARKS: ReadonlyMap<string, Advice> = new Map([
  [';', syntax('One expression is all there is: leave the ";" out.')],
  ...['‘', '’', '“', '”', '„', '‚', '«', '»', '´'].map((quote) => [quote, SMART_QUOTE] as const),
  ...['`', '[', ']'].map((quote) => [quote, NAME_QUOTES] as const),
  ...['+', '-', '*', '/', '%', '^', '->'].map((mark) => [mark, CALCULATION] as const),
  ...['~', '~*', '!~', '!~*'].map((mark) => [mark, REGULAR_EXPRESSION] as const),
  ...['--', '/*'].map((mark) => [mark, COMMENT] as const),
  ...['?', '$', '@', ':'].map((mark) => [mark, PLACEHOLDER] as const),
  ['::', unsupported('A value takes the type of the column it is compared with: leave the cast out.')],
  ['…', syntax('Write the value in full.')],
  ['.', unsupported('Columns are named alone, without a table; a name that contains a dot goes in double quotes.')],
]);

const COMPARISON_CHAIN = syntax('Comparisons do not chain: write a < b and b < c.');

const FILTER_WORDS: ReadonlyMap<string, Advice> = new Map([
  ['contains', syntax('It is written contains(column, value).')],
  ['where', syntax('Leave "where" out: the condition is all there is.')],
  ['select', unsupported('There are no subqueries here.')],
  ['with', unsupported('There are no subqueries here.')],
  ['exists', unsupported('There are no subqueries here.')],
  ['case', unsupported('There is no "case" here: use and, or, not.')],
  ['union', unsupported('One condition is all there is.')],
  ['order', unsupported('Order rows with the parameter sort_by.')],
  ['limit', unsupported('Bound the rows with the parameter limit.')],
  ['offset', unsupported('Skip rows with the parameter offset.')],
  ['group', unsupported('Rows cannot be grouped here.')],
  ['similar', REGULAR_EXPRESSION],
  ['rlike', REGULAR_EXPRESSION],
  ['regexp', REGULAR_EXPRESSION],
  ['unknown', unsupported('Use is null.')],
  ['distinct', unsupported('Use = or !=, and is null.')],
  ['xor', unsupported('Use and, or, not.')],
]);

const SORT_WORDS: ReadonlyMap<string, Advice> = new Map([
  ['ascending', syntax('Did you mean "asc"?')],
  ['descending', syntax('Did you mean "desc"?')],
  ['by', syntax('Leave "order by" out: the columns are all there is.')],
  ['limit', syntax('Bound the rows with the parameter limit.')],
  ['collate', syntax('Text is ordered by code point.')],
]);

const COMPARISONS: ReadonlySet<string> = new Set(['=', '!=', '<>', '<', '<=', '>', '>=']);
const TYPED_TEXT: ReadonlySet<string> = new Set(['date', 'timestamp', 'time', 'interval', 'decimal', 'x']);

/** `before` and `after` are the tokens next to `token`, which cannot stand where it stands. */
export function adviceFor(token: Token, after: Token, before: Token | undefined, source: Source): Advice {
  const advice =
    source.parameter === 'filters' ? filterAdvice(token, after, before, source) : sortAdvice(token, before);
  return advice ?? { problem: 'syntax' };
}

function filterAdvice(token: Token, after: Token, before: Token | undefined, source: Source): Advice | undefined {
  // `select` or `where` at the start of a condition is read as a column name. The next word shows that it is none.
  const aboutBefore = isBare(before) ? FILTER_WORDS.get(before.text.toLowerCase()) : undefined;
  if (aboutBefore !== undefined) return aboutBefore;
  switch (token.kind) {
    case 'mark':
      if (token.text === '(' && isBare(before)) return aboutCall(before.text);
      if (COMPARISONS.has(token.text) && before !== undefined && isOperandEnd(before)) {
        return before.text === ')'
          ? syntax('Parentheses go around whole conditions: (a = 1 or b = 2).')
          : COMPARISON_CHAIN;
      }
      return FILTER_MARKS.get(token.text) ?? MARKS.get(token.text);
    case 'word':
      if (token.quoted) return undefined;
      return (
        aboutQuoteInside(before, token, source) ??
        (token.text.toLowerCase() === 'null' ? aboutNull(before) : undefined) ??
        FILTER_WORDS.get(token.text.toLowerCase()) ??
        (after.text === '(' ? aboutCall(token.text) : undefined) ??
        aboutBlank(before, token)
      );
    case 'number':
      return aboutNumber(token, before, source);
    case 'text':
      if (isBare(before) && TYPED_TEXT.has(before.text.toLowerCase())) {
        return unsupported('A text takes the type of the column it is compared with: write it alone.');
      }
      return undefined;
    default:
      return undefined;
  }
}

function sortAdvice(token: Token, before: Token | undefined): Advice | undefined {
  switch (token.kind) {
    case 'mark':
      if (token.text === '(' && isBare(before))
        return syntax('Rows are ordered by columns, not by what a function makes of them.');
      if (token.text === '-' || token.text === '+') return syntax('The direction follows the column: amount desc.');
      if (token.text === ':' || token.text === '.')
        return syntax('The direction follows the column after a blank: amount desc.');
      return MARKS.get(token.text);
    case 'word':
      return token.quoted ? undefined : (SORT_WORDS.get(token.text.toLowerCase()) ?? aboutBlank(before, token));
    case 'text':
      return NAME_QUOTES;
    case 'number':
      return syntax(
        'Columns are ordered by name, not by number; a name that begins with a digit goes in double quotes.',
      );
    default:
      return undefined;
  }
}

/** `Did you mean "like"?` when a bare word is nearly one of those that could stand here. */
export function adviceForWord(token: Token, words: readonly string[]): string | undefined {
  if (token.kind !== 'word' || token.quoted) return undefined;
  const [near] = nearest(token.text, words);
  return near === undefined || near === token.text.toLowerCase() ? undefined : `Did you mean "${near}"?`;
}

/** A function: there is one. */
function aboutCall(name: string): Advice {
  return (
    FILTER_WORDS.get(name.toLowerCase()) ??
    unsupported('There are no functions here, except contains(column, value) for arrays.')
  );
}

function aboutNumber(token: Token, before: Token | undefined, source: Source): Advice | undefined {
  const start = before?.kind === 'number' ? before.at.offset : token.at.offset;
  const date = /^\d{4}-\d{1,2}(-\d{1,2})?/.exec(source.text.slice(start, start + 12))?.[0];
  if (date !== undefined) return syntax(`A date goes in single quotes: '${date}'.`);
  return /^[+-]/.test(token.text) && before !== undefined && isOperandEnd(before) ? CALCULATION : undefined;
}

/** `'O'Brien'`: the quote inside has ended the text. */
function aboutQuoteInside(before: Token | undefined, word: Token, source: Source): Advice | undefined {
  if (before?.kind !== 'text' || source.text[word.at.offset - 1] !== "'") return undefined;
  return syntax(`A text that contains ' has it twice: 'it''s'.`);
}

/** What may follow a column: a word that is nearly one of these is a slip, and not part of a name. */
const WORDS_BEHIND_COLUMNS = ['and', 'or', 'not', 'in', 'like', 'ilike', 'between', 'is', 'asc', 'desc', 'nulls'];

/** `IMDB Rating > 8`: two words where one column name can stand. */
function aboutBlank(before: Token | undefined, word: Token): Advice | undefined {
  if (!isBare(before) || isReserved(before.text)) return undefined;
  const isWord = WORDS_BEHIND_COLUMNS.includes(before.text.toLowerCase());
  if (isWord || nearest(word.text, WORDS_BEHIND_COLUMNS).length > 0) return undefined;
  return syntax(`A column name that has blanks goes in double quotes: "${before.text} ${word.text}".`);
}

/** `a not null`. */
function aboutNull(before: Token | undefined): Advice | undefined {
  return isBare(before) && before.text.toLowerCase() === 'not' ? syntax('Did you mean "is not null"?') : undefined;
}

function isBare(token: Token | undefined): token is Token {
  return token?.kind === 'word' && !token.quoted;
}

function isOperandEnd(token: Token): boolean {
  return token.kind === 'mark' ? token.text === ')' : token.kind !== 'end';
}
