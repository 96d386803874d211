/** Reads the parameter values of a run from a JSON body. */
import { parametersProblem } from '../../domain/run-input.ts';
import { RequestError } from '../../errors/errors.ts';
import { isNumber } from './exact-number.ts';
import { bad, isObject, type ReadField } from './fields.ts';

/** An object of names and values. A number counts as its text, since clients send both. */
export const PARAMETERS: ReadField<Readonly<Record<string, string>>> = (value, name) => {
  if (!isObject(value)) throw bad(name, value, 'an object of names and texts');
  const isScalar = (one: unknown) => isNumber(one) || typeof one === 'boolean';
  const entries = Object.entries(value).map(([key, one]) => [key, isScalar(one) ? String(one) : one] as const);
  const nul = entries.find((pair) => pair.some((part) => typeof part === 'string' && part.includes('\0')));
  if (nul !== undefined) throw bad(name, nul[0], 'text without a NUL character');
  const problem = parametersProblem(Object.fromEntries(entries));
  if (problem !== undefined) throw new RequestError('invalid_body', `${name}: ${problem}`);
  return Object.fromEntries(entries) as Record<string, string>;
};
