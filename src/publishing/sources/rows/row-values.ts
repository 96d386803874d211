/**
 * One value of a row as JSON text, every digit kept, and which kind of value it is. What has no stored form is refused: nothing is
 * left out, and nothing becomes `[object Object]`.
 */

/** Of these a column's type is taken: see row-columns.ts. */
export type ValueKind = 'null' | 'boolean' | 'whole' | 'double' | 'bigint' | 'text' | 'date' | 'bytes' | 'nested';

export interface WrittenValue {
  readonly kind: ValueKind;
  readonly json: string;
}

/** What is wrong with a value; who asked knows its row and column. */
export class ValueProblem extends Error {
  override readonly name = 'ValueProblem';
}

/** More levels than any type has: so much deeper, a value refers to itself. */
const DEPTH_MAX = 64;
const NULL: WrittenValue = { kind: 'null', json: 'null' };

/** @throws ValueProblem for a value that has no stored form */
export function writtenValue(value: unknown, depth = 0): WrittenValue {
  switch (typeof value) {
    case 'string':
      return { kind: 'text', json: jsonText(value) };
    case 'number':
      return writtenNumber(value);
    case 'bigint':
      return { kind: 'bigint', json: String(value) };
    case 'boolean':
      return { kind: 'boolean', json: String(value) };
    case 'undefined':
      return NULL;
    case 'object':
      return value === null ? NULL : writtenObject(value, depth);
    default:
      throw new ValueProblem(`a ${typeof value} cannot be stored`);
  }
}

/** @throws ValueProblem for text that is no Unicode */
export function jsonText(text: string): string {
  if (!text.isWellFormed()) throw new ValueProblem('the text holds half of a surrogate pair, which is no character');
  return JSON.stringify(text);
}

/** JSON has no numbers for NaN and the infinities: they are texts, which a column of doubles reads back. */
function writtenNumber(value: number): WrittenValue {
  if (!Number.isFinite(value)) return { kind: 'double', json: `"${value}"` };
  return { kind: Number.isSafeInteger(value) ? 'whole' : 'double', json: JSON.stringify(value) };
}

function writtenObject(value: object, depth: number): WrittenValue {
  if (depth > DEPTH_MAX) {
    throw new ValueProblem(`the value is nested more than ${DEPTH_MAX} levels deep, or refers to itself`);
  }
  if (value instanceof Date) return { kind: 'date', json: JSON.stringify(isoText(value)) };
  if (value instanceof Uint8Array) return { kind: 'bytes', json: `"0x${Buffer.from(value).toString('hex')}"` };
  if (Array.isArray(value)) return { kind: 'nested', json: listText(value, depth) };
  if (value instanceof Map)
    return {
      kind: 'nested',
      json: objectText(
        Array.from(value, ([key, item]) => [keyText(key), item] as const),
        depth,
      ),
    };
  if ('toJSON' in value && typeof value.toJSON === 'function') return writtenValue(value.toJSON(), depth + 1);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) {
    throw new ValueProblem(
      `an object of the class ${classOf(value)} cannot be stored: pass text, a number or a plain object`,
    );
  }
  return { kind: 'nested', json: objectText(Object.entries(value), depth) };
}

function listText(items: readonly unknown[], depth: number): string {
  // Array.from, since map leaves the holes of an array out.
  return `[${Array.from(items, (item) => writtenValue(item, depth + 1).json).join(',')}]`;
}

function objectText(members: readonly (readonly [string, unknown])[], depth: number): string {
  return `{${members.map(([key, item]) => `${jsonText(key)}:${writtenValue(item, depth + 1).json}`).join(',')}}`;
}

function keyText(key: unknown): string {
  if (typeof key === 'string') return key;
  if (typeof key === 'number' || typeof key === 'bigint' || typeof key === 'boolean') return String(key);
  throw new ValueProblem('a key of a Map is neither text nor a number');
}

function isoText(date: Date): string {
  if (Number.isNaN(date.getTime())) throw new ValueProblem('a Date that is no time (Invalid Date) cannot be stored');
  return date.toISOString();
}

export function classOf(value: object): string {
  const name: unknown = value.constructor?.name;
  return typeof name === 'string' && name !== '' ? name : 'of no name';
}
