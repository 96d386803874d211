/**
 * The filter language by recursive descent (grammar: docs/reference/filters.md). Chains of `and`, `or` and `not` are loops,
 * so only parentheses recurse, and these are bounded; each token is looked at a bounded number of times.
 */
import { expressionError, positionOf, type Source } from './expression-error.ts';
import type { ExpressionLimits } from './limits.ts';
import { bareWord, nameOf, TokenReader } from './token-reader.ts';
import type { Token } from './tokenize.ts';
import type { ComparisonOperator, FilterExpression, FilterNode, Operand, TextLiteral } from './tree.ts';

/** @throws ExpressionError filter_syntax · filter_unsupported · filter_limit */
export function parseFilter(text: string, limits: ExpressionLimits): FilterExpression {
  const source: Source = { parameter: 'filters', text };
  if (text.length > limits.lengthMax) {
    const at = { offset: limits.lengthMax, length: text.length - limits.lengthMax };
    throw expressionError(
      source,
      'limit',
      at,
      `the expression has ${text.length} characters, at most ${limits.lengthMax} are read.`,
    );
  }
  const root = new FilterParser(source, limits).whole();
  return { text, root };
}

const OPERATORS: ReadonlyMap<string, ComparisonOperator> = new Map([
  ['=', '='],
  ['!=', '!='],
  ['<>', '!='],
  ['<', '<'],
  ['<=', '<='],
  ['>', '>'],
  ['>=', '>='],
]);

const AFTER_OPERAND = ['in', 'like', 'ilike', 'between', 'is', 'not', 'and', 'or'];
const OPERAND = 'a column or a value';

class FilterParser {
  readonly #reader: TokenReader;
  readonly #limits: ExpressionLimits;
  #terms = 0;
  #depth = 0;

  constructor(source: Source, limits: ExpressionLimits) {
    this.#reader = new TokenReader(source);
    this.#limits = limits;
  }

  whole(): FilterNode {
    const root = this.#chain('or');
    if (this.#reader.isMark(')')) throw this.#reader.unexpected('no ")" without its "("');
    if (this.#reader.token.kind !== 'end') throw this.#reader.unexpected('"and", "or" or the end', ['and', 'or']);
    return root;
  }

  #chain(word: 'and' | 'or'): FilterNode {
    const first = this.#reader.token;
    const operand = () => (word === 'or' ? this.#chain('and') : this.#negation());
    const operands = [operand()];
    while (this.#reader.acceptWord(word)) operands.push(operand());
    const [only] = operands;
    if (only !== undefined && operands.length === 1) return only;
    return { kind: word, operands, at: this.#reader.since(first) };
  }

  #negation(): FilterNode {
    const negations: Token[] = [];
    while (this.#reader.isWord('not')) {
      negations.push(this.#reader.token);
      this.#enter();
    }
    let node = this.#condition();
    for (const negation of negations.reverse()) {
      node = { kind: 'not', operand: node, at: this.#reader.since(negation) };
    }
    this.#depth -= negations.length;
    return node;
  }

  #condition(): FilterNode {
    const opening = this.#reader.token;
    if (!this.#reader.isMark('(')) return this.#term();
    this.#enter();
    const node = this.#chain('or');
    if (!this.#reader.isMark(')')) {
      const position = positionOf(this.#reader.source.text, opening.at.offset);
      const opened = this.#reader.token.kind === 'end' ? ` for the "(" at position ${position}` : '';
      throw this.#reader.unexpected(`"and", "or" or ")"${opened}`, ['and', 'or']);
    }
    this.#reader.advance();
    this.#depth -= 1;
    return node;
  }

  #term(): FilterNode {
    const first = this.#reader.token;
    this.#terms += 1;
    if (this.#terms > this.#limits.termsMax) {
      throw this.#limit(
        first,
        `the expression has more than ${this.#limits.termsMax} conditions; in (…) is one, however many values it lists.`,
      );
    }
    if (this.#reader.isWord('contains') && this.#reader.isMark('(', 1)) return this.#contains();
    const left = this.#operand('a condition such as amount > 5');
    const operator = this.#operator();
    if (operator !== undefined) {
      const right = this.#operand(OPERAND);
      return { kind: 'comparison', operator, left, right, at: this.#reader.since(first) };
    }
    if (this.#reader.acceptWord('is')) return this.#is(first, left);
    const negated = this.#reader.acceptWord('not');
    if (this.#reader.acceptWord('in')) return this.#in(first, left, negated);
    if (this.#reader.isWord('like') || this.#reader.isWord('ilike')) return this.#like(first, left, negated);
    if (this.#reader.acceptWord('between')) return this.#between(first, left, negated);
    if (negated) {
      const words = ['in', 'like', 'ilike', 'between'];
      throw this.#reader.unexpected('"in", "like", "ilike" or "between" after "not"', words);
    }
    if (left.kind === 'name' && this.#endsTerm()) return { kind: 'flag', name: left, at: left.at };
    throw this.#reader.unexpected('a comparison such as =, <, in, like or is null', AFTER_OPERAND);
  }

  #is(first: Token, operand: Operand): FilterNode {
    const negated = this.#reader.acceptWord('not');
    const what = bareWord(this.#reader.token);
    if (what !== 'null' && what !== 'true' && what !== 'false') {
      throw this.#reader.unexpected(negated ? '"null", "true" or "false"' : '"null", "not null", "true" or "false"', [
        'null',
        'not',
        'true',
        'false',
      ]);
    }
    this.#reader.advance();
    return { kind: 'is', operand, what, negated, at: this.#reader.since(first) };
  }

  #in(first: Token, operand: Operand, negated: boolean): FilterNode {
    if (!this.#reader.acceptMark('(')) throw this.#reader.unexpected('"(" and a list of values');
    const members: Operand[] = [];
    do {
      if (members.length === this.#limits.inMembersMax) {
        throw this.#limit(this.#reader.token, `the list has more than ${this.#limits.inMembersMax} values.`);
      }
      members.push(this.#operand('a value'));
    } while (this.#reader.acceptMark(','));
    if (!this.#reader.acceptMark(')')) throw this.#reader.unexpected('"," or ")" in the list of values');
    return { kind: 'in', operand, members, negated, at: this.#reader.since(first) };
  }

  #like(first: Token, operand: Operand, negated: boolean): FilterNode {
    const caseInsensitive = this.#reader.isWord('ilike');
    this.#reader.advance();
    const pattern = this.#operand("a pattern such as '%USDC%'");
    const escapeText = this.#reader.acceptWord('escape') ? this.#escape() : undefined;
    return {
      kind: 'like',
      caseInsensitive,
      operand,
      pattern,
      escape: escapeText,
      negated,
      at: this.#reader.since(first),
    };
  }

  #escape(): TextLiteral {
    const { token } = this.#reader;
    // One character, which may be two code units.
    if (token.kind !== 'text' || [...token.text.slice(0, 3)].length !== 1) {
      throw this.#reader.unexpected(`one character in single quotes, such as '\\'`);
    }
    this.#reader.advance();
    return { kind: 'text', text: token.text, at: token.at };
  }

  #between(first: Token, operand: Operand, negated: boolean): FilterNode {
    const low = this.#operand(OPERAND);
    if (!this.#reader.acceptWord('and')) throw this.#reader.unexpected('"and" between the two bounds', ['and']);
    const high = this.#operand(OPERAND);
    return { kind: 'between', operand, low, high, negated, at: this.#reader.since(first) };
  }

  #contains(): FilterNode {
    const first = this.#reader.advance();
    this.#reader.advance();
    const name = nameOf(this.#reader.token);
    if (name === undefined) throw this.#reader.unexpected('the name of an array column');
    this.#reader.advance();
    if (!this.#reader.acceptMark(',')) throw this.#reader.unexpected('"," and a value');
    const member = this.#operand('a value');
    if (!this.#reader.acceptMark(')')) throw this.#reader.unexpected('")" after contains(column, value');
    return { kind: 'contains', name, member, at: this.#reader.since(first) };
  }

  #operator(): ComparisonOperator | undefined {
    const { token } = this.#reader;
    const operator = token.kind === 'mark' ? OPERATORS.get(token.text) : undefined;
    if (operator !== undefined) this.#reader.advance();
    return operator;
  }

  #operand(expected: string): Operand {
    const { token } = this.#reader;
    const operand = operandOf(token);
    const isCall = token.kind === 'word' && !token.quoted && this.#reader.isMark('(', 1);
    if (operand === undefined || isCall) throw this.#reader.unexpected(expected);
    this.#reader.advance();
    return operand;
  }

  #endsTerm(): boolean {
    const { token } = this.#reader;
    return token.kind === 'end' || this.#reader.isMark(')') || this.#reader.isWord('and') || this.#reader.isWord('or');
  }

  /** Goes over a `(` or a `not`. */
  #enter(): void {
    const token = this.#reader.advance();
    this.#depth += 1;
    if (this.#depth > this.#limits.depthMax) {
      throw this.#limit(token, `parentheses and "not" are nested more than ${this.#limits.depthMax} deep.`);
    }
  }

  #limit(token: Token, sentence: string): Error {
    return expressionError(this.#reader.source, 'limit', token.at, sentence);
  }
}

function operandOf(token: Token): Operand | undefined {
  switch (token.kind) {
    case 'text':
      return { kind: 'text', text: token.text, at: token.at };
    case 'number':
    case 'hex':
      return { kind: token.kind, text: token.text, at: token.at };
    case 'word':
      switch (bareWord(token)) {
        case 'true':
        case 'false':
          return { kind: 'boolean', value: bareWord(token) === 'true', at: token.at };
        case 'null':
          return { kind: 'null', at: token.at };
        default:
          return nameOf(token);
      }
    default:
      return undefined;
  }
}
