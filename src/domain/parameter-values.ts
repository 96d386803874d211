/**
 * The values of a query's parameters in one run: what the caller named, else what the query says holds otherwise. Each is
 * checked to be of its type, and stays text: digits are never rounded, and the engine reads it as the type (contract §10).
 */
import { nearest } from './nearest.ts';
import type { QueryParameter } from './query.ts';
import { PARAMETERS_MAX } from './run-input.ts';
import { shortened } from './shortened.ts';

export interface ParameterValue {
  readonly key: string;
  readonly type: QueryParameter['type'];
  /** Digits of a number, a time as `2024-03-05 20:50:59`, with a zone or without. */
  readonly value: string;
}

/** The message is for whoever named the value. */
export class ParameterError extends Error {}

const KEY_CHARS_MAX = 100;
const VALUE_CHARS_MAX = 100_000;
const DIGITS_MAX = 400;
const OPTIONS_SHOWN = 3;

const NUMBER = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?$/;
const DATETIME =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2}(?:\.[0-9]{1,6})?)?(?: ?(Z|UTC|[+-](?:0[0-9]|1[0-5])(?::?[0-5][0-9])?))?)?$/i;

/**
 * A value for each parameter, in the order in which they are declared.
 * @throws ParameterError: unknown names first, in one error
 */
export function parameterValues(
  declared: readonly QueryParameter[],
  given: Readonly<Record<string, string>>,
): readonly ParameterValue[] {
  const keys = new Set(declared.map(({ key }) => key));
  const unknown = Object.keys(given).filter((name) => !keys.has(name));
  if (unknown.length > 0) throw new ParameterError(`unknown parameters (${unknown.join(', ')})`);
  return declared.map((parameter) => {
    const { key, type } = parameter;
    const value = Object.hasOwn(given, key) ? given[key] : parameter.value;
    if (value === undefined)
      throw new ParameterError(`parameter ${key} has no value: the query gives it none of its own`);
    return { key, type, value: readValue(parameter, value) };
  });
}

/**
 * The values in the spelling in which a run has them that was asked for with `given`: its reader may spell them as its caller did. What is
 * no value of its type, or of no parameter, stays as it is.
 */
export function spelledAsInRuns(
  declared: readonly QueryParameter[],
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const spelled = declared.flatMap((parameter) => {
    const value = Object.hasOwn(given, parameter.key) ? given[parameter.key] : undefined;
    if (value === undefined) return [];
    try {
      return [[parameter.key, readValue(parameter, value)] as const];
    } catch (error) {
      if (!(error instanceof ParameterError)) throw error;
      return [];
    }
  });
  return { ...given, ...Object.fromEntries(spelled) };
}

/** Values to look at the query's text with: those that it has, or any of their types. @throws ParameterError */
export function exampleValues(declared: readonly QueryParameter[]): readonly ParameterValue[] {
  const examples = { text: 'text', number: '1', datetime: '2024-03-05 00:00:00' };
  return declared.map((parameter) => {
    const { key, type, value, enumOptions } = parameter;
    const example = type === 'enum' ? (enumOptions?.[0] ?? '') : examples[type];
    return { key, type, value: readValue(parameter, value ?? example) };
  });
}

/** @throws ParameterError when the parameters could not be those of a query. */
export function checkParameters(declared: readonly QueryParameter[]): void {
  if (declared.length > PARAMETERS_MAX) throw new ParameterError(`a query has at most ${PARAMETERS_MAX} parameters`);
  const keys = declared.map(({ key }) => key);
  for (const [i, { key, type, enumOptions }] of declared.entries()) {
    if (!/^[^{}'"\r\n]+$/.test(key) || key.trim() !== key || key.length > KEY_CHARS_MAX) {
      const rule = `1 to ${KEY_CHARS_MAX} characters without braces, quotes, line breaks, and blanks at its ends`;
      throw new ParameterError(`${JSON.stringify(key)} cannot be the name of a parameter: it has ${rule}`);
    }
    if (keys.indexOf(key) !== i) throw new ParameterError(`parameter ${key} is declared twice`);
    if (type === 'enum' && (enumOptions === undefined || enumOptions.length === 0)) {
      throw new ParameterError(`parameter ${key} is an enum: give its values as enumOptions`);
    }
  }
  exampleValues(declared);
}

function readValue({ key, type, enumOptions = [] }: QueryParameter, value: string): string {
  const expected = (what: string) => new ParameterError(`parameter ${key} is ${what}: found ${shown(value)}`);
  if (value.length > VALUE_CHARS_MAX) throw expected(`longer than ${VALUE_CHARS_MAX} characters`);
  switch (type) {
    case 'text':
      if (value.includes('\0')) throw expected('a text, which has no NUL character');
      // As bytes, half of a surrogate pair would become another character.
      if (!value.isWellFormed()) throw expected('a text of whole characters');
      return value;
    case 'enum':
      if (!enumOptions.includes(value)) throw expected(`one of ${someOf(enumOptions, value)}`);
      return value;
    case 'number': {
      const digits = value.trim();
      if (!NUMBER.test(digits) || digits.length > DIGITS_MAX) throw expected('a number, as 12, -0.5 or 1e9');
      // The engine would read infinity.
      if (!Number.isFinite(Number(digits))) throw expected('too large for any type of number');
      return digits;
    }
    case 'datetime':
      return readDatetime(value.trim()) ?? raise(expected('a time, as 2024-03-05 20:50:59 or 2024-03-05'));
    default:
      return type satisfies never;
  }
}

/** Three options at most, those nearest to the value: a query may have a thousand. */
function someOf(options: readonly string[], value: string): string {
  if (options.length <= OPTIONS_SHOWN) return options.map(shown).join(', ');
  const near = nearest(value, options);
  const some = near.length > 0 ? near : options.slice(0, OPTIONS_SHOWN);
  return `${options.length} values, such as ${some.map(shown).join(', ')}`;
}

function shown(text: string): string {
  return JSON.stringify(shortened(text, 80));
}

/** In one spelling; undefined when there is no such time. */
function readDatetime(value: string): string | undefined {
  const [, date = '', minutes = '00:00', seconds = ':00', zone = ''] = DATETIME.exec(value) ?? [];
  const instant = new Date(`${date}T${minutes}${seconds.slice(0, 3)}Z`);
  // A 31st of April would be read as the 1st of May.
  if (Number.isNaN(instant.getTime()) || instant.toISOString().slice(0, 10) !== date) return undefined;
  const offset = /^[+-]/.test(zone)
    ? `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`
    : zone && '+00:00';
  return `${date} ${minutes}${seconds}${offset}`;
}

function raise(error: Error): never {
  throw error;
}
