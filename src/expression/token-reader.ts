/** Walks over the tokens of an expression, and says what is wrong with the one it stands at. */
import { adviceFor, adviceForWord } from './advice.ts';
import { type ExpressionError, type Source, unexpected } from './expression-error.ts';
import { isReserved } from './keywords.ts';
import { type Token, tokenize } from './tokenize.ts';
import type { Name, Position } from './tree.ts';

export class TokenReader {
  readonly source: Source;
  readonly #tokens: readonly Token[];
  #index = 0;

  constructor(source: Source) {
    this.source = source;
    this.#tokens = tokenize(source);
  }

  get token(): Token {
    return this.peek(0);
  }

  /** The token `ahead` of the current one; the end stays the end. */
  peek(ahead: number): Token {
    const last = this.#tokens.length - 1;
    return this.#tokens[Math.min(this.#index + ahead, last)] ?? END;
  }

  advance(): Token {
    const { token } = this;
    this.#index += 1;
    return token;
  }

  isMark(text: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === 'mark' && token.text === text;
  }

  isWord(word: string, ahead = 0): boolean {
    return bareWord(this.peek(ahead)) === word;
  }

  acceptMark(text: string): boolean {
    if (!this.isMark(text)) return false;
    this.#index += 1;
    return true;
  }

  acceptWord(word: string): boolean {
    if (!this.isWord(word)) return false;
    this.#index += 1;
    return true;
  }

  /** From the start of `first` to the end of the token before the current one. */
  since(first: { readonly at: Position }): Position {
    const last = this.#tokens[this.#index - 1] ?? this.token;
    return { offset: first.at.offset, length: last.at.offset + last.at.length - first.at.offset };
  }

  /**
   * The error for the current token.
   * @param words the words that could have stood here, for a suggestion when it is nearly one of them
   */
  unexpected(expected: string, words: readonly string[] = []): ExpressionError {
    const before = this.#index === 0 ? undefined : this.#tokens[this.#index - 1];
    const { problem, advice } = adviceFor(this.token, this.peek(1), before, this.source);
    const suggestion = adviceForWord(this.token, words);
    return unexpected(this.source, problem, this.token.at, expected, advice ?? suggestion);
  }
}

const END: Token = { kind: 'end', text: '', at: { offset: 0, length: 0 } };

/** A bare word in lower case, to compare with keywords; undefined for every other token. */
export function bareWord(token: Token): string | undefined {
  return token.kind === 'word' && !token.quoted ? token.text.toLowerCase() : undefined;
}

/** The token as a column name, when it can be one. */
export function nameOf(token: Token): Name | undefined {
  if (token.kind !== 'word' || (!token.quoted && isReserved(token.text))) return undefined;
  return { kind: 'name', text: token.text, quoted: token.quoted, at: token.at };
}
