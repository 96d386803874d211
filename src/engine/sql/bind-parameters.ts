/**
 * `{{name}}` in a SQL text → a value of its type. What was typed never becomes part of the text: at its place stands what the engine's
 * dialect has for a value. Inside a text, `'0x{{address}}'`, the pieces and the value are joined by the engine. Positions in the new
 * text are led back to those in the SQL as its author wrote it.
 */
import type { ParameterValue } from '../../domain/parameter-values.ts';
import { EngineError } from '../engine.ts';
import { type BlockComments, parameterAt, parametersIn, type SqlToken, tokenizeSql } from './sql-tokens.ts';

/** How an engine writes a value. */
export interface ParameterDialect {
  readonly comments: BlockComments;
  /** A word, in capitals, that begins SQL of the engine's own in which `?` is no parameter. */
  readonly patternWord?: string;
  /**
   * SQL for a value, whatever stands around it.
   * @param number the place of the value, from 1, among those of the query
   * @param before the word or mark before it, in capitals
   */
  readonly write: (bound: BoundValue, number: number, before: string) => string;
}

/** The type that a value would have if it were written out in the SQL. */
export type BoundType =
  | { readonly kind: 'text' | 'timestamp' | 'timestamp_with_zone' | 'bigint' | 'hugeint' | 'double' }
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number };

export interface BoundValue {
  readonly value: string;
  readonly type: BoundType;
}

export interface BoundSql {
  readonly text: string;
  /** In the order of their numbers. */
  readonly values: readonly BoundValue[];
  /** The place in the author's SQL of an offset in `text`, both in UTF-16 units. */
  readonly originalOffset: (offset: number) => number;
  /** The name of the parameter that this offset of `text` belongs to. */
  readonly parameterAt: (offset: number) => string | undefined;
}

interface Replacement {
  readonly name: string;
  /** In the author's SQL. */
  readonly start: number;
  readonly length: number;
  /** In the new text. */
  readonly newStart: number;
  readonly newLength: number;
}

/** @throws EngineError syntax_error, with line and column, where a parameter is unknown or cannot stand. */
export function bindParameters(
  sql: string,
  parameters: readonly ParameterValue[],
  dialect: ParameterDialect,
): BoundSql {
  // DuckDB takes a statement up to there, and would check one text and run another.
  const nul = sql.indexOf('\0');
  if (nul >= 0) throw errorAt(sql, nul, 'a query cannot hold the character NUL');
  const byName = new Map(parameters.map((parameter) => [parameter.key, parameter]));
  const numbers = new Map<string, number>();
  const values: BoundValue[] = [];
  const replacements: Replacement[] = [];
  let text = '';
  const written = (name: string, type: BoundType, word: string): string => {
    const bound = { value: byName.get(name)?.value ?? '', type };
    const number = numbers.get(name) ?? values.push(bound);
    numbers.set(name, number);
    return dialect.write(bound, number, word);
  };
  const tokens = withoutEnd(tokenizeSql(sql, dialect.comments));
  const hasPattern = tokens.some(
    ({ kind, text: code }) => kind === 'code' && code.toUpperCase() === dialect.patternWord,
  );
  let before: SqlToken | undefined;
  let word = '';
  for (const token of tokens) {
    const inSql = { sql, byName, hasPattern, written: (name: string, type: BoundType) => written(name, type, word) };
    const replaced = replace(token, before, inSql);
    if (replaced !== undefined) {
      const { name, sql: newSql } = replaced;
      const place = { start: token.start, length: token.text.length };
      replacements.push({ name, ...place, newStart: text.length, newLength: newSql.length });
    }
    text += replaced?.sql ?? token.text;
    before = token;
    if (token.kind !== 'space' && token.kind !== 'comment') word = token.text.toUpperCase();
  }
  return {
    text,
    values,
    originalOffset: (offset) => originalOffset(replacements, offset),
    parameterAt: (offset) => replacementAt(replacements, offset)?.name,
  };
}

interface Replacing {
  readonly sql: string;
  readonly byName: ReadonlyMap<string, ParameterValue>;
  /** Whether `?` may be a part of a pattern, which is for the engine to say. */
  readonly hasPattern: boolean;
  /** SQL for the value of a parameter as a type. */
  readonly written: (name: string, type: BoundType) => string;
}

function replace(
  token: SqlToken,
  before: SqlToken | undefined,
  { sql, byName, hasPattern, written }: Replacing,
): { readonly name: string; readonly sql: string } | undefined {
  const { kind, text, start } = token;
  switch (kind) {
    case 'parameter': {
      const { name } = parameterAt(text, 0) ?? { name: '' };
      const parameter = byName.get(name);
      if (parameter === undefined) throw errorAt(sql, start, unknown(name));
      return { name, sql: written(name, boundTypeOf(parameter)) };
    }
    case 'text': {
      const names = namesIn(text);
      const [first] = names;
      // A text that never ends is a mistake, which the engine names.
      if (first === undefined || !CLOSED_TEXT.test(text)) return undefined;
      const missing = names.find((name) => !byName.has(name));
      if (missing !== undefined) throw errorAt(sql, start, unknown(missing));
      const isPrefixed = before?.kind === 'code' && /[A-Za-z0-9_&]$/.test(before.text);
      if (isPrefixed)
        throw errorAt(sql, start, `{{${first}}} cannot stand in a text with a prefix: write {{${first}}} alone`);
      return { name: first, sql: joinedText(text, (name) => written(name, { kind: 'text' })) };
    }
    case 'special_text':
    case 'quoted_name': {
      const name = namesIn(text).find((found) => byName.has(found));
      if (name === undefined) return undefined;
      const where = kind === 'quoted_name' ? 'a name' : 'a text with escapes or dollar quotes';
      throw errorAt(sql, start, `{{${name}}} cannot stand in ${where}: a parameter is a value`);
    }
    case 'placeholder':
      if (text === '?' && hasPattern) return undefined;
      throw errorAt(sql, start, `${text} is no parameter here: write {{name}} and declare it`);
    default:
      return undefined;
  }
}

function unknown(name: string): string {
  return `{{${name}}} is not declared: add it to the parameters of the query`;
}

function namesIn(text: string): readonly string[] {
  return parametersIn(text).map(({ name }) => name);
}

const CLOSED_TEXT = /^'(?:[^']|'')*'$/;

/** `'a{{x}}b'` as `('a' || $1 || 'b')`. */
function joinedText(literal: string, written: (name: string) => string): string {
  const texts: string[] = [];
  let from = 1;
  for (const { name, start, end } of parametersIn(literal)) {
    texts.push(`'${literal.slice(from, start)}'`, written(name));
    from = end;
  }
  texts.push(`'${literal.slice(from, -1)}'`);
  return `(${texts.filter((text) => text !== "''").join(' || ')})`;
}

function boundTypeOf({ type, value }: ParameterValue): BoundType {
  switch (type) {
    case 'text':
    case 'enum':
      return { kind: 'text' };
    case 'datetime': {
      const hasZone = /[+-][0-9]{2}:[0-9]{2}$/.test(value.slice('2024-03-05'.length));
      return { kind: hasZone ? 'timestamp_with_zone' : 'timestamp' };
    }
    case 'number':
      return numberType(value);
    default:
      return type satisfies never;
  }
}

const BIGINT_MAX = 2n ** 63n - 1n;
const HUGEINT_MAX = 2n ** 127n - 1n;
/** The most digits of a decimal. */
const DIGITS_MAX = 38;

function numberType(value: string): BoundType {
  const [, whole = '', fraction = ''] = /^[+-]?([0-9]*)(?:\.([0-9]*))?$/.exec(value) ?? [];
  if (whole === '' && fraction === '') return { kind: 'double' };
  if (fraction === '') {
    const size = BigInt(whole);
    return { kind: size <= BIGINT_MAX ? 'bigint' : size <= HUGEINT_MAX ? 'hugeint' : 'double' };
  }
  const digits = whole.replace(/^0+/, '').length + fraction.length;
  if (digits > DIGITS_MAX) return { kind: 'double' };
  return { kind: 'decimal', precision: Math.max(digits, 1), scale: fraction.length };
}

/** Without the semicolons and blanks at the end: one statement may end in them. Comments at the end go with them. */
function withoutEnd(tokens: readonly SqlToken[]): readonly SqlToken[] {
  const isEnd = ({ kind, text }: SqlToken) => kind === 'space' || kind === 'comment' || text === ';';
  const last = tokens.findLastIndex((token) => !isEnd(token));
  const unterminated = tokens.at(-1);
  // A comment that never ends is a mistake, which the engine names.
  if (unterminated?.text.startsWith('/*') && !unterminated.text.endsWith('*/')) return tokens;
  return tokens.slice(0, last + 1);
}

function replacementAt(replacements: readonly Replacement[], offset: number): Replacement | undefined {
  return replacements.find(({ newStart, newLength }) => offset >= newStart && offset < newStart + newLength);
}

function originalOffset(replacements: readonly Replacement[], offset: number): number {
  const inside = replacementAt(replacements, offset);
  if (inside !== undefined) return inside.start;
  const before = replacements.findLast(({ newStart, newLength }) => newStart + newLength <= offset);
  if (before === undefined) return offset;
  return before.start + before.length + (offset - before.newStart - before.newLength);
}

/** Line and column, from 1, of an offset. */
export function placeIn(sql: string, offset: number): { readonly line: number; readonly column: number } {
  const lines = sql.slice(0, offset).split('\n');
  return { line: lines.length, column: [...(lines.at(-1) ?? '')].length + 1 };
}

export function errorAt(sql: string, offset: number, message: string): EngineError {
  return new EngineError('syntax_error', message, placeIn(sql, offset));
}
