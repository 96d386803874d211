/**
 * Parses JSON without rounding numbers. A double holds about 15 digits, so a result's numbers are kept as the text that was sent.
 */

/** A number as it was sent. */
export class Digits {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toString(): string {
    return this.text;
  }
}

export type ExactJson = null | boolean | string | Digits | readonly ExactJson[] | ExactObject;
export interface ExactObject {
  readonly [name: string]: ExactJson;
}

type Reviver = (name: string, value: unknown, context?: { readonly source?: string }) => unknown;

/** Some browsers do not pass the source text to a reviver; there, numbers are doubles. */
const keepDigits: Reviver = (_name, value, context) =>
  typeof value === 'number' ? new Digits(context?.source ?? String(value)) : value;

/** @throws SyntaxError */
export function parseExact(text: string): ExactJson {
  return JSON.parse(text, keepDigits) as ExactJson;
}

/** Whether this browser is one that passes it. Where it is not, `bigints=string` has integers that would be rounded arrive as texts. */
export const KEEPS_DIGITS = String(parseExact('9007199254740993')) === '9007199254740993';

/** JSON again, with the digits as they were. */
export function formatExact(value: ExactJson): string {
  if (value instanceof Digits) return value.text;
  if (Array.isArray(value)) return `[${value.map(formatExact).join(',')}]`;
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${formatExact(member)}`);
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value);
}
