/**
 * Reads the fields of a JSON body, each as its type. An error names the field, what was found and what was expected. An unknown
 * field is refused: ignoring it would hide a misspelt name.
 */
import { nearest } from '../../domain/nearest.ts';
import { shortened } from '../../domain/shortened.ts';
import { RequestError } from '../../errors/errors.ts';
import { ExactNumber } from './exact-number.ts';

/** @throws RequestError invalid_body @param name the field's name, for the error */
export type ReadField<T> = (value: unknown, name: string) => T;

type Fields = Readonly<Record<string, ReadField<unknown>>>;
type Values<F extends Fields> = { readonly [Name in keyof F]?: ReturnType<F[Name]> };

/**
 * The values of the fields that were sent. @param body undefined counts as `{}`
 * @throws RequestError invalid_body
 */
export function readFields<F extends Fields>(body: unknown, fields: F, within = ''): Values<F> {
  if (body === undefined) return {};
  if (!isObject(body)) throw bad(within || 'the body', body, 'a JSON object');
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    const read = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const path = within === '' ? name : `${within}.${name}`;
    if (read === undefined) throw unknownField(path, name, Object.keys(fields));
    values[name] = read(value, path);
  }
  return values as Values<F>;
}

/** @throws RequestError invalid_body when the field was not sent */
export function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new RequestError('invalid_body', `${name}: missing, and it must be there`);
  return value;
}

export function text(lengthMin: number, lengthMax: number): ReadField<string> {
  return (value, name) => {
    if (typeof value !== 'string' || value.length < lengthMin || value.length > lengthMax) {
      throw bad(name, value, `a text of ${lengthMin} to ${lengthMax} characters`);
    }
    // The catalog may be PostgreSQL, which cannot store them.
    if (value.includes('\0')) throw bad(name, value, 'a text without NUL characters');
    return value;
  };
}

export const boolean: ReadField<boolean> = (value, name) => {
  if (typeof value === 'boolean') return value;
  throw bad(name, value, 'true or false');
};

/** @param unit ` of seconds` */
export function integer(min: number, max: number, unit = ''): ReadField<number> {
  return (value, name) => {
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
    throw bad(name, value, `a whole number${unit} from ${min} to ${max}`);
  };
}

export function oneOf<T extends string>(choices: readonly T[]): ReadField<T> {
  return (value, name) => {
    const choice = choices.find((known) => known === value);
    if (choice !== undefined) return choice;
    throw bad(name, value, `one of ${choices.join(', ')}`);
  };
}

/** Null takes away what was there: then the field is read as undefined. */
export function nullable<T>(read: ReadField<T>): ReadField<T | undefined> {
  return orElse<T | undefined>(read, undefined);
}

/** The same, with `none` in place of undefined. */
export function orElse<T>(read: ReadField<T>, none: T): ReadField<T> {
  return (value, name) => (value === null ? none : read(value, name));
}

export function list<T>(read: ReadField<T>, lengthMax: number): ReadField<readonly T[]> {
  return (value, name) => {
    if (!Array.isArray(value) || value.length > lengthMax) throw bad(name, value, `a list of at most ${lengthMax}`);
    return value.map((member, index) => read(member, `${name}[${index}]`));
  };
}

export function bad(name: string, found: unknown, expected: string): RequestError {
  return new RequestError('invalid_body', `${name}: found ${shown(found)}, expected ${expected}`);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
}

const SHOWN_MAX = 60;

/** Objects and arrays are not written out: they may be nested too deep to follow. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isObject(value)) return 'an object';
  const written = value instanceof ExactNumber ? value.text : (JSON.stringify(value) ?? 'nothing');
  return shortened(written, SHOWN_MAX);
}

function unknownField(path: string, name: string, known: readonly string[]): RequestError {
  const [near] = nearest(name, known);
  const instead = near === undefined ? `expected ${known.join(', ') || 'none'}` : `did you mean ${near}?`;
  return new RequestError('invalid_body', `${shortened(path, SHOWN_MAX)}: no such field; ${instead}`);
}
