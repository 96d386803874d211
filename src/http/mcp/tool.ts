/** What a tool of the Model Context Protocol is here, and how its arguments are read: they are the parameters of the API, by their names. */
import { nearest } from '../../domain/nearest.ts';
import type { Principal } from '../../domain/principal.ts';
import { shortened } from '../../domain/shortened.ts';
import { RequestError } from '../../errors/errors.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { QueryParameters } from '../../results/request/query-string.ts';
import { isNumber } from '../writing/exact-number.ts';
import { isObject } from '../writing/fields.ts';

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: Readonly<Record<string, Argument>>;
  readonly required?: readonly string[];
  /** @returns texts, each a JSON document @throws RequestError */
  readonly call: (call: ToolCall) => Promise<readonly string[]>;
}

export interface ToolCall {
  /** The arguments, as the parameters of an address would have them. */
  readonly parameters: QueryParameters;
  readonly principal: Principal;
  readonly stats: RequestStats;
  /** Scheme, host and prefix of addresses in the answer: `http://localhost:8080/v1`. */
  readonly base: string;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
}

/** An argument: `number` is a whole one, `names` are of columns, `values` those of a query's own parameters. */
export interface Argument {
  readonly kind: keyof typeof KINDS;
  readonly description: string;
  /** Of a number. */
  readonly max?: number;
}

/** The longest text that any parameter takes is shorter. */
const TEXT_MAX = 100_000;

interface Kind {
  readonly schema: object;
  readonly expected: string;
  /** @returns names and values of parameters; undefined: the value is not of this kind */
  readonly read: (name: string, value: unknown) => readonly (readonly [string, string])[] | undefined;
}

const KINDS = {
  text: {
    schema: { type: 'string' },
    expected: 'a text',
    read: (name, value) => (isText(value) ? [[name, value]] : undefined),
  },
  number: {
    schema: { type: 'integer', minimum: 0 },
    expected: 'a whole number',
    // An identifier may be sent as a text.
    read: (name, value) => (isText(value) || isNumber(value) ? [[name, String(value)]] : undefined),
  },
  flag: {
    schema: { type: 'boolean' },
    expected: 'true or false',
    read: (name, value) => (typeof value === 'boolean' ? [[name, String(value)]] : undefined),
  },
  names: {
    schema: { type: 'array', items: { type: 'string' } },
    expected: 'a list of column names',
    read: (name, value) => {
      if (!Array.isArray(value) || !value.every(isText)) return undefined;
      return value.length === 0 ? [] : [[name, value.map(quotedName).join(',')]];
    },
  },
  values: {
    schema: { type: 'object', additionalProperties: { type: 'string' } },
    expected: 'an object of texts',
    read: (name, value) => {
      if (!isObject(value)) return undefined;
      const read: [string, string][] = [];
      for (const [parameter, given] of Object.entries(value)) {
        if (!isText(given) && !isNumber(given)) return undefined;
        read.push([`${name}.${parameter}`, String(given)]);
      }
      return read;
    },
  },
} satisfies Record<string, Kind>;

/** What a client is told of a tool. */
export function toolView({ name, title, description, arguments: known, required }: Tool): object {
  const properties = Object.entries(known).map(([argument, { kind, description: meaning, max }]) => [
    argument,
    { ...KINDS[kind].schema, ...(max !== undefined && { maximum: max }), description: meaning },
  ]);
  return {
    name,
    title,
    description,
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(properties),
      ...(required !== undefined && { required }),
      additionalProperties: false,
    },
    // Nothing is changed, and nobody else is asked.
    annotations: { readOnlyHint: true, openWorldHint: false },
  };
}

/**
 * The arguments as parameters. What is not there, is null or an empty text, is not asked for.
 * @throws RequestError invalid_parameter for what is unknown, missing, or not of its kind
 */
export function parametersOf({ arguments: known, required = [] }: Tool, sent: unknown): QueryParameters {
  const fields = sent ?? {};
  if (!isObject(fields)) throw invalid('arguments: expected an object');
  const parameters = new Map<string, readonly string[]>();
  for (const [name, value] of Object.entries(fields)) {
    const argument = Object.hasOwn(known, name) ? known[name] : undefined;
    if (argument === undefined) throw unknownArgument(name, Object.keys(known));
    if (value === null || value === '') continue;
    const kind: Kind = KINDS[argument.kind];
    const read = kind.read(name, value);
    if (read === undefined) throw invalid(`${name}: expected ${kind.expected}`);
    for (const [parameter, text] of read) parameters.set(parameter, [text]);
    requireAtMost(name, read[0]?.[1], argument);
  }
  const missing = required.find((name) => !parameters.has(name));
  if (missing !== undefined) throw invalid(`${missing}: missing, and it must be there`);
  return parameters;
}

function requireAtMost(name: string, text: string | undefined, { max }: Argument): void {
  if (max === undefined || text === undefined || Number(text) <= max) return;
  throw invalid(`${name}: found "${shortened(text, 60)}", expected at most ${max}`);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= TEXT_MAX;
}

/** As `columns` takes any name (contract §1). */
function quotedName(name: string): string {
  return `"${name.replaceAll('\\', '\\\\').replaceAll('"', '""')}"`;
}

function unknownArgument(name: string, known: readonly string[]): RequestError {
  const [near] = nearest(name, known);
  const instead = near === undefined ? `expected ${known.join(', ')}` : `did you mean ${near}?`;
  return invalid(`${shortened(name, 60)}: no such argument; ${instead}`);
}

function invalid(problem: string): RequestError {
  return new RequestError('invalid_parameter', problem);
}
