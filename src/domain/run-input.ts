/** What a run may be given by those who begin it or end it: bounds that hold whoever asks, at a terminal, from a program or over HTTP. */
import type { ExecutionError } from './execution.ts';

/** Of a query as of a run of it: each that a query declares can be named in a run. */
export const PARAMETERS_MAX = 100;
export const PARAMETER_NAME_LENGTH_MAX = 100;
export const PARAMETER_VALUE_LENGTH_MAX = 2000;
export const ERROR_MESSAGE_LENGTH_MAX = 10_000;
export const ERROR_TYPE_LENGTH_MAX = 100;
/** Of an error that says no other. */
export const DEFAULT_ERROR_TYPE = 'execution_error';
export const POSITION_MAX = 1_000_000_000;

/** Why it is no parameter of a run; undefined for one that is. */
export function parameterProblem(name: string, value: string): string | undefined {
  if (name === '') return 'a parameter has a name';
  if (name.length <= PARAMETER_NAME_LENGTH_MAX && value.length <= PARAMETER_VALUE_LENGTH_MAX) return undefined;
  return `a parameter's name has at most ${PARAMETER_NAME_LENGTH_MAX} characters, its value ${PARAMETER_VALUE_LENGTH_MAX}`;
}

/** Why these are no parameters of a run. @param parameters as they came: not known to be text */
export function parametersProblem(parameters: Readonly<Record<string, unknown>>): string | undefined {
  const all = Object.entries(parameters);
  if (all.length > PARAMETERS_MAX) return `a run has at most ${PARAMETERS_MAX} parameters`;
  for (const [name, value] of all) {
    if (typeof value !== 'string') {
      return `the parameter ${JSON.stringify(name)} is no text: its value is ${kindOf(value)}`;
    }
    const problem = parameterProblem(name, value);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Why it is no error of a run. */
export function executionErrorProblem({ type, message, line, column }: ExecutionError): string | undefined {
  if (!isText(message, ERROR_MESSAGE_LENGTH_MAX))
    return `the message of an error has 1 to ${ERROR_MESSAGE_LENGTH_MAX} characters`;
  if (!isText(type, ERROR_TYPE_LENGTH_MAX)) return `the type of an error has 1 to ${ERROR_TYPE_LENGTH_MAX} characters`;
  if (column !== undefined && line === undefined) return 'the column of an error needs its line';
  const isPosition = (at: number) => Number.isInteger(at) && at >= 1 && at <= POSITION_MAX;
  if ([line, column].every((at) => at === undefined || isPosition(at))) return undefined;
  return `the line and the column of an error are whole numbers from 1 to ${POSITION_MAX}`;
}

function isText(text: unknown, lengthMax: number): boolean {
  return typeof text === 'string' && text.trim() !== '' && text.length <= lengthMax;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
