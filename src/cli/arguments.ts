/** How the words on the command line become values. What cannot be read is a mistake in usage: exit code 2. */
import { InvalidArgumentError } from 'commander';
import { isReservedQueryId, RESERVED_QUERY_IDS_FROM } from '../datasets/reserved-ids.ts';
import { descriptionsProblem } from '../domain/column-descriptions.ts';
import { EXECUTION_STATES, type ExecutionState, isExecutionId } from '../domain/execution.ts';
import { DAY_MILLIS, startOfDay } from '../domain/instant.ts';
import { LIFETIME_MILLIS_MAX } from '../domain/key.ts';
import type { Owner } from '../domain/principal.ts';
import { isPrincipalName, PRINCIPAL_NAME_RULE } from '../domain/principal-name.ts';
import { PARAMETERS_MAX, POSITION_MAX, parameterProblem } from '../domain/run-input.ts';

/** Options that exclude or need each other, and other mistakes that no single word makes. */
export class UsageError extends Error {}

export function principalName(text: string): string {
  if (isPrincipalName(text)) return text;
  throw new InvalidArgumentError(`A name has ${PRINCIPAL_NAME_RULE}.`);
}

export function principalNames(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, principalName(text)];
}

export function queryId(text: string): number {
  return wholeNumber(text, 1, Number.MAX_SAFE_INTEGER, 'A query id');
}

/** What has rows: a query, or one run of it. */
export function queryOrExecutionId(text: string): string {
  if (isExecutionId(text)) return text;
  return String(wholeNumber(text, 1, Number.MAX_SAFE_INTEGER, 'The id of an execution is a ULID, that of a query'));
}

/** Of a query that is to be added. */
export function newQueryId(text: string): number {
  const id = queryId(text);
  if (!isReservedQueryId(id)) return id;
  throw new InvalidArgumentError(`Ids from ${RESERVED_QUERY_IDS_FROM} on are reserved for the curated datasets.`);
}

export function listLimit(text: string): number {
  return wholeNumber(text, 1, 10_000, 'A limit');
}

/** Of rows: so many, or none. */
export function rowCount(text: string): number {
  return wholeNumber(text, 0, Number.MAX_SAFE_INTEGER, 'A number of rows');
}

/** A day in UTC. */
export function day(text: string): string {
  if (startOfDay(text) !== undefined) return text;
  throw new InvalidArgumentError('A day is written as 2024-03-05.');
}

/** A length of time in days or hours, in milliseconds. */
export function lifetime(text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,6})([dh])$/i.exec(text) ?? [];
  const millis = Number(digits) * (unit.toLowerCase() === 'd' ? DAY_MILLIS : DAY_MILLIS / 24);
  if (millis > 0 && millis <= LIFETIME_MILLIS_MAX) return millis;
  throw new InvalidArgumentError('A time is written as 90d or 12h, and is at most 36500d.');
}

/** A line or column of a query's text, from 1. */
export function position(text: string): number {
  return wholeNumber(text, 1, POSITION_MAX, 'A position');
}

export function executionId(text: string): string {
  if (isExecutionId(text)) return text.toUpperCase();
  throw new InvalidArgumentError('An execution id is 26 letters and digits (a ULID).');
}

/** `COMPLETED`, or as the API writes it: `QUERY_STATE_COMPLETED`. */
export function executionState(text: string): ExecutionState {
  const name = text.toUpperCase().replace(/^QUERY_STATE_/, '');
  const state = EXECUTION_STATES.find((known) => known === name);
  if (state !== undefined) return state;
  throw new InvalidArgumentError(`A state is one of ${EXECUTION_STATES.join(', ')}.`);
}

/** Words for people: the name of a query, the label of a key, the message of an error. */
export function label(lengthMax: number): (text: string) => string {
  return (text) => {
    if (text.trim() !== '' && text.length <= lengthMax) return text;
    throw new InvalidArgumentError(`Expected 1 to ${lengthMax} characters.`);
  };
}

/** The same, of words that may be repeated: each counts once. */
export function labels(
  countMax: number,
  lengthMax: number,
): (text: string, before?: readonly string[]) => readonly string[] {
  const one = label(lengthMax);
  return (text, before = []) => {
    const all = [...new Set([...before, one(text)])];
    if (all.length > countMax) throw new InvalidArgumentError(`Expected up to ${countMax}.`);
    return all;
  };
}

/** Collects `NAME=VALUE`; the value may be empty and have further equals signs in it. */
export function queryParameters(
  text: string,
  before: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const equals = text.indexOf('=');
  const [name, value] = [text.slice(0, equals), text.slice(equals + 1)];
  if (equals < 1) throw new InvalidArgumentError('A parameter is NAME=VALUE.');
  const problem = parameterProblem(name, value);
  if (problem !== undefined) throw new InvalidArgumentError(`${problem.replace('a', 'A')}.`);
  if (before.has(name)) throw new InvalidArgumentError(`The parameter ${name} is given twice.`);
  if (before.size >= PARAMETERS_MAX) throw new InvalidArgumentError(`A run has at most ${PARAMETERS_MAX} parameters.`);
  return new Map([...before, [name, value]]);
}

/** Collects `COLUMN=TEXT`; the text may have further equals signs in it, and an empty one takes a description away. */
export function columnDescriptions(
  text: string,
  before: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const equals = text.indexOf('=');
  if (equals < 1) throw new InvalidArgumentError('A description is COLUMN=TEXT.');
  const described = new Map([...before, [text.slice(0, equals), text.slice(equals + 1)]]);
  const problem = descriptionsProblem(Object.fromEntries(described));
  if (problem !== undefined) throw new InvalidArgumentError(`Of descriptions, ${problem}.`);
  return described;
}

/** @throws UsageError unless exactly one of the two is given */
export function ownerOf(options: { readonly user?: string; readonly team?: string }): Owner {
  if (options.user !== undefined && options.team === undefined) return { kind: 'user', name: options.user };
  if (options.team !== undefined && options.user === undefined) return { kind: 'team', name: options.team };
  throw new UsageError('give one of --user NAME and --team NAME');
}

/** An owner as JSON has it: under the name of its kind. */
export function ownerRecord(owner: Owner): { readonly user: string } | { readonly team: string } {
  return owner.kind === 'user' ? { user: owner.name } : { team: owner.name };
}

function wholeNumber(text: string, min: number, max: number, what: string): number {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new InvalidArgumentError(`${what} is a whole number from ${min} to ${max}.`);
}
