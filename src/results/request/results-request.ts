/**
 * What is asked for: a target (which execution, query or dataset), a format, and the shared parameters of specification
 * §4.9, as plain data. Parsing is pure; the first wrong parameter is thrown with its name, what was found and what was expected.
 */
import { type Instant, parseInstant } from '../../domain/instant.ts';
import { shortened } from '../../domain/shortened.ts';
import { RequestError } from '../../errors/errors.ts';
import type { ByteRange } from './byte-range.ts';
import type { CachePolicy } from './cache-policy.ts';
import { parseColumnNames } from './columns-parameter.ts';
import type { Format } from './format.ts';
import { parameterOf, type QueryParameters } from './query-string.ts';
import {
  type BooleanParameter,
  type IntegerParameter,
  SHARED_PARAMETERS,
  type SharedParameter,
} from './shared-parameters.ts';

export type Target =
  | { readonly kind: 'execution'; readonly executionId: string }
  /** `asOf` names the parameter that says as of when, if it is not `as_of`. */
  | { readonly kind: 'query'; readonly queryId: string; readonly asOf?: 'from' | 'to' }
  /** A query that the address does not name. */
  | { readonly kind: 'dataset'; readonly queryId: string };

export interface ResultsRequest {
  readonly target: Target;
  readonly format: Format;
  readonly parameters: QueryParameters;
  readonly cachePolicy: CachePolicy;
  /** The header of that name. */
  readonly ifNoneMatch: string | undefined;
  /** Only the head of the answer is wanted. */
  readonly isHead: boolean;
  /** The bytes asked for; undefined: all. */
  readonly range: ByteRange | undefined;
  /** The range is wanted only of the answer with this tag. */
  readonly ifRange: string | undefined;
  /** The digest of an answer that is sent as it is read is wanted in its head. */
  readonly wantsDigest: boolean;
  /** Scheme, host and path prefix that the client used, for `next_uri`: `http://localhost:8080/v1`. */
  readonly base: string;
  /** Where further pages are, below the base; absent: at the results of the execution. */
  readonly pagesAt?: string;
  /** Told of the page that follows, where that is read before it is asked for. */
  readonly prepareNext?: PrepareNext;
}

/** @param byteChunks of the page, to be read at once and not later @param etag of the page */
export type PrepareNext = (byteChunks: readonly Uint8Array[], etag: string) => void;

/**
 * A request for a whole answer, by whoever has no headers to ask with.
 * @param base '': nobody follows its `next_uri`
 */
export function wholeRequest(asked: Pick<ResultsRequest, 'target' | 'format' | 'parameters' | 'base'>): ResultsRequest {
  return {
    ...asked,
    cachePolicy: { kind: 'immutable' },
    ifNoneMatch: undefined,
    isHead: false,
    range: undefined,
    ifRange: undefined,
    wantsDigest: false,
  };
}

export interface SharedParameters {
  readonly columns?: readonly string[];
  readonly filters?: string;
  /** Not empty. */
  readonly search?: string;
  readonly sortBy?: string;
  readonly limit?: number;
  readonly offset: number;
  readonly sampleCount?: number;
  /** What the sample is drawn with; at random without it. */
  readonly sampleSeed?: number;
  readonly ignoreMaxDatapoints: boolean;
  /** Say how many rows match the filters in all. */
  readonly countsExactly: boolean;
  readonly bigints: 'number' | 'string';
  readonly csv: 'plain' | 'spreadsheet';
}

/**
 * The named query parameters asked for: `params.NAME=value`. An empty value is a value here.
 * @throws RequestError invalid_parameter for two different values of one name, and for a NUL, which no run can have
 */
export function queryParametersOf(parameters: QueryParameters): Readonly<Record<string, string>> {
  const named: [string, string][] = [];
  for (const [name, sent] of parameters) {
    if (!name.startsWith('params.')) continue;
    const values = [...new Set(sent)];
    const [value = ''] = values;
    if (values.length > 1) {
      const problem = `${excerpt(name)}: sent ${values.length} times with different values, expected one`;
      throw new RequestError('invalid_parameter', problem);
    }
    if (name.includes('\0') || value.includes('\0')) {
      throw new RequestError('invalid_parameter', `${excerpt(name)}: found a NUL character, expected text without one`);
    }
    named.push([name.slice('params.'.length), value]);
  }
  return Object.fromEntries(named);
}

/** Each call may be answered with other rows. */
export function asksForNewSample(parameters: QueryParameters): boolean {
  const { sampleCount, sampleSeed } = SHARED_PARAMETERS;
  const isSent = ({ name }: SharedParameter) => parameters.get(name)?.some((value) => value !== '') ?? false;
  return isSent(sampleCount) && !isSent(sampleSeed);
}

export function allowsPartialResults(parameters: QueryParameters): boolean {
  return parseBoolean(parameters, SHARED_PARAMETERS.allowPartialResults);
}

/**
 * The time as of which the latest run of a query is meant: `as_of`, or, of a difference, `from`, which must be there, and `to`.
 * @throws RequestError invalid_parameter
 */
export function asOfOf(parameters: QueryParameters, name: string = SHARED_PARAMETERS.asOf.name): Instant | undefined {
  const text = parameterOf(parameters, name);
  if (text === undefined) {
    if (name !== 'from') return undefined;
    const expected = 'a time such as 2024-03-05: what changed since the run that was the latest then';
    throw new RequestError('invalid_parameter', `from: missing, expected ${expected}`);
  }
  const instant = parseInstant(text);
  if (instant !== undefined) return instant;
  const expected = 'a time such as 2024-03-05 or 2024-03-05T20:50:59Z';
  throw new RequestError('invalid_parameter', `${name}: found "${excerpt(text)}", expected ${expected}`);
}

/**
 * All but `execution_id` and `queryID`, which `requireSameTarget` looks at.
 * @throws RequestError invalid_parameter · incompatible_parameters
 */
export function parseSharedParameters(parameters: QueryParameters): SharedParameters {
  const table = SHARED_PARAMETERS;
  const columns = parameterOf(parameters, table.columns.name);
  const filters = parameterOf(parameters, table.filters.name);
  const search = parameterOf(parameters, table.search.name);
  const sortBy = parameterOf(parameters, table.sortBy.name);
  const limit = parseInteger(parameters, table.limit);
  const offset = parseInteger(parameters, table.offset);
  const sampleCount = parseInteger(parameters, table.sampleCount);
  if (sampleCount !== undefined) requireNone(parameters, table.sampleCount);
  const sampleSeed = parseInteger(parameters, table.sampleSeed);
  if (sampleSeed !== undefined && sampleCount === undefined) {
    throw new RequestError('incompatible_parameters', 'sample_seed goes with sample_count, which is missing');
  }
  // Acted on before, where the state asked for it; a value that is none is refused whatever the state.
  allowsPartialResults(parameters);
  return {
    ...(columns !== undefined && { columns: parseColumnNames(columns) }),
    ...(filters !== undefined && { filters }),
    ...(search !== undefined && { search }),
    ...(sortBy !== undefined && { sortBy }),
    ...(limit !== undefined && { limit }),
    offset: offset ?? 0,
    ...(sampleCount !== undefined && { sampleCount }),
    ...(sampleSeed !== undefined && { sampleSeed }),
    ignoreMaxDatapoints: parseBoolean(parameters, table.ignoreMaxDatapoints),
    countsExactly: parseChoice(parameters, table.count) === 'exact',
    bigints: parseChoice(parameters, table.bigints) ?? 'number',
    csv: parseChoice(parameters, table.csv) ?? 'plain',
  };
}

/**
 * `execution_id` and `queryID` say what the address says. A dataset's address names no query, so there it may be any. Asked before memory
 * is: another address may have been given the same bytes, for which these parameters were right.
 * @throws RequestError invalid_parameter
 */
export function requireSameTarget(parameters: QueryParameters, target: Target): void {
  const { executionId, queryId } = SHARED_PARAMETERS;
  switch (target.kind) {
    case 'execution':
      requireSame(parameters, executionId, target.executionId);
      break;
    case 'query':
      requireSame(parameters, queryId, target.queryId);
      break;
    case 'dataset':
      parseInteger(parameters, { ...queryId, min: 0 });
      break;
    default:
      target satisfies never;
  }
}

function requireSame(parameters: QueryParameters, { name }: SharedParameter, expected: string): void {
  const found = parameterOf(parameters, name);
  if (found !== undefined && found.toUpperCase() !== expected.toUpperCase()) {
    throw new RequestError(
      'invalid_parameter',
      `${name}: found "${excerpt(found)}", but the address asks for ${expected}`,
    );
  }
}

function requireNone(parameters: QueryParameters, { name, excludes }: Required<IntegerParameter>): void {
  const other = excludes.find((excluded) => parameterOf(parameters, excluded) !== undefined);
  if (other === undefined) return;
  throw new RequestError(
    'incompatible_parameters',
    `${name} and ${other} cannot be combined: a sample is drawn from the whole result`,
  );
}

function parseBoolean(parameters: QueryParameters, { name }: BooleanParameter): boolean {
  const text = parameterOf(parameters, name)?.toLowerCase();
  switch (text) {
    case 'true':
    case '1':
      return true;
    case undefined:
    case 'false':
    case '0':
      return false;
    default:
      throw new RequestError('invalid_parameter', `${name}: found "${excerpt(text)}", expected true or false`);
  }
}

function parseChoice<T extends string>(
  parameters: QueryParameters,
  { name, choices }: { readonly name: string; readonly choices: readonly T[] },
): T | undefined {
  const text = parameterOf(parameters, name);
  if (text === undefined) return undefined;
  const chosen = choices.find((choice) => choice === text.toLowerCase());
  if (chosen !== undefined) return chosen;
  throw new RequestError('invalid_parameter', `${name}: found "${excerpt(text)}", expected ${choices.join(' or ')}`);
}

function parseInteger(
  parameters: QueryParameters,
  { name, min }: Pick<IntegerParameter, 'name' | 'min'>,
): number | undefined {
  const text = parameterOf(parameters, name);
  if (text === undefined) return undefined;
  if (!/^[0-9]+$/.test(text) || Number(text) < min) {
    throw new RequestError(
      'invalid_parameter',
      `${name}: found "${excerpt(text)}", expected a whole number, at least ${min}`,
    );
  }
  // Beyond what a double counts exactly there is no row to ask for: the largest safe integer asks for the same.
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

function excerpt(text: string): string {
  return shortened(text, 60);
}
