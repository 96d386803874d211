/**
 * Text → tokens, for both languages. Every character is looked at a bounded number of times, so the time is linear in
 * the length whatever the text. Marks that the languages do not have (`==`, `&&`, `;`) become tokens too: the parser
 * knows what stood where and can say what was meant.
 */
import { type Source, unexpected } from './expression-error.ts';
import type { Position } from './tree.ts';

export type Token =
  /** A bare word, keywords included, or a name in double quotes. */
  | { readonly kind: 'word'; readonly text: string; readonly quoted: boolean; readonly at: Position }
  | { readonly kind: 'text'; readonly text: string; readonly at: Position }
  | { readonly kind: 'number' | 'hex'; readonly text: string; readonly at: Position }
  | { readonly kind: 'mark'; readonly text: string; readonly at: Position }
  | { readonly kind: 'end'; readonly text: ''; readonly at: Position };

const BLANK = /[\s\uFEFF]+/uy;
const WORD = /[\p{L}_][\p{L}\p{N}\p{M}_$]*/uy;
const HEX = /0x[0-9a-f]*/iy;
const NUMBER = /[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?/iy;
/** A number, or hex, that is directly followed by one of these is neither. */
const GLUED = /[\p{L}\p{N}\p{M}_$.]+/uy;
const MARK = /<>|<=|>=|!=|===?|=>|=<|&&|\|\||::|--|\/\*|->|!?~\*?|[\s\S]/uy;

/** @throws ExpressionError for a text without an end and for a number that runs into a word. */
export function tokenize(source: Source): readonly Token[] {
  const { text } = source;
  const tokens: Token[] = [];
  let offset = 0;
  while (offset < text.length) {
    const blank = match(BLANK, text, offset);
    if (blank !== '') {
      offset += blank.length;
      continue;
    }
    const token = next(source, offset);
    tokens.push(token);
    offset += token.at.length;
  }
  tokens.push({ kind: 'end', text: '', at: { offset: text.length, length: 0 } });
  return tokens;
}

function next(source: Source, offset: number): Token {
  const { text } = source;
  const first = text[offset];
  if (first === "'" || first === '"') return quoted(source, offset, first);
  const word = match(WORD, text, offset);
  if (word !== '') return { kind: 'word', text: word, quoted: false, at: { offset, length: word.length } };
  const hex = match(HEX, text, offset);
  if (hex !== '') return unglued(source, offset, { kind: 'hex', text: hex });
  const number = match(NUMBER, text, offset);
  if (number !== '') return unglued(source, offset, { kind: 'number', text: number });
  const mark = match(MARK, text, offset);
  return { kind: 'mark', text: mark, at: { offset, length: mark.length } };
}

function quoted(source: Source, offset: number, quote: string): Token {
  const { text } = source;
  let end = text.indexOf(quote, offset + 1);
  while (end !== -1 && text[end + 1] === quote) end = text.indexOf(quote, end + 2);
  if (end === -1) {
    const what = quote === "'" ? 'text' : 'name';
    const at = { offset, length: text.length - offset };
    throw unexpected(
      source,
      'syntax',
      at,
      `a closing ${quote}`,
      `A ${what} that contains ${quote} has it twice: ${quote === "'" ? "'it''s'" : '"5"" disk"'}.`,
    );
  }
  const inner = text.slice(offset + 1, end).replaceAll(quote + quote, quote);
  const at = { offset, length: end + 1 - offset };
  return quote === "'" ? { kind: 'text', text: inner, at } : { kind: 'word', text: inner, quoted: true, at };
}

function unglued(source: Source, offset: number, token: { kind: 'number' | 'hex'; text: string }): Token {
  const { length } = token.text;
  const glued = match(GLUED, source.text, offset + length);
  if (glued === '') return { ...token, at: { offset, length } };
  const at = { offset, length: length + glued.length };
  const whole = source.text.slice(offset, offset + at.length);
  if (token.kind === 'hex') {
    throw unexpected(source, 'syntax', at, 'hexadecimal digits after 0x', 'Other text goes in single quotes.');
  }
  const shown = whole.length <= 40 ? whole : 'it';
  const advice = `A text goes in single quotes ('${shown}'), a column name that begins with a digit in double quotes ("${shown}").`;
  throw unexpected(source, 'syntax', at, 'a number to end before the next word', advice);
}

function match(pattern: RegExp, text: string, offset: number): string {
  pattern.lastIndex = offset;
  return pattern.exec(text)?.[0] ?? '';
}
