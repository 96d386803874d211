/** What Trino says of a query that failed → EngineError. Its message is about the author's SQL and values, or it is for the log alone. */
import { shortened } from '../../domain/shortened.ts';
import { EngineError, type EngineErrorType } from '../engine.ts';

/** As the protocol has it. */
export interface TrinoError {
  readonly message: string;
  readonly errorName: string;
  readonly errorType: string;
  /** Both from 1, in the text that was sent. */
  readonly errorLocation: { readonly lineNumber: number; readonly columnNumber: number } | undefined;
}

export interface ErrorContext {
  /** The place in the author's SQL of a place in the text that was sent. */
  readonly placeOf: (line: number, column: number) => { readonly line: number; readonly column: number } | undefined;
  /** Whether a line of the text that was sent comes after the author's SQL: it ended too early. */
  readonly isBehind: (line: number) => boolean;
  /** The name of the parameter whose value stands at a place in the text that was sent. */
  readonly parameterAt: (line: number, column: number) => string | undefined;
  readonly timeLimitMillis: number;
}

const MESSAGE_CHARS_MAX = 500;

const BY_NAME: Readonly<Record<string, EngineErrorType>> = {
  TABLE_NOT_FOUND: 'missing_source',
  SCHEMA_NOT_FOUND: 'missing_source',
  CATALOG_NOT_FOUND: 'missing_source',
  PERMISSION_DENIED: 'wrong_source',
  EXCEEDED_TIME_LIMIT: 'time_limit',
  EXCEEDED_CPU_LIMIT: 'time_limit',
  EXCEEDED_GLOBAL_MEMORY_LIMIT: 'memory_limit',
  EXCEEDED_LOCAL_MEMORY_LIMIT: 'memory_limit',
  CLUSTER_OUT_OF_MEMORY: 'memory_limit',
  INVALID_CAST_ARGUMENT: 'execution_error',
  INVALID_FUNCTION_ARGUMENT: 'execution_error',
  NUMERIC_VALUE_OUT_OF_RANGE: 'execution_error',
  DIVISION_BY_ZERO: 'execution_error',
  INVALID_JSON_LITERAL: 'execution_error',
  INVALID_LITERAL: 'syntax_error',
};

/** What Trino says of limits of time that are the cluster's own: the service sets the one of the whole run. */
const LIMIT_OF_CLUSTER = /CPU limit|(?:execution|planning) time limit/;
/** What each limit of memory is; of any other the service may set the one of a query. */
const MEMORY_LIMITS: Readonly<Record<string, string>> = {
  EXCEEDED_LOCAL_MEMORY_LIMIT: 'on one machine (query.max-memory-per-node in Trino)',
  CLUSTER_OUT_OF_MEMORY: 'while others run: the cluster has no more',
};

/** The error of a query that ran past its limit, whoever noticed first. */
export function timeLimitError(timeLimitMillis: number, percent?: number): EngineError {
  const done = percent === undefined ? '' : `; Trino said it was ${percent} % done`;
  return new EngineError('time_limit', `the query took longer than its limit of ${timeLimitMillis} ms${done}`);
}

export function toEngineError(given: TrinoError, context: ErrorContext): EngineError {
  const error = placed(given);
  const { errorName, errorLocation } = error;
  const cause = new Error(`${errorName} (${error.errorType}): ${error.message}`);
  const { lineNumber, columnNumber } = errorLocation ?? {};
  const isPlaced = lineNumber !== undefined && columnNumber !== undefined;
  const place = isPlaced ? context.placeOf(lineNumber, columnNumber) : undefined;
  const type = typeOf(error);
  if (type === 'time_limit') {
    if (!LIMIT_OF_CLUSTER.test(error.message)) return timeLimitError(context.timeLimitMillis);
    return new EngineError('time_limit', `Trino ended the query at a limit of its own: ${said(error)}`, { cause });
  }
  if (type === 'memory_limit') {
    const limit = MEMORY_LIMITS[errorName] ?? '(QRS_TRINO_MEMORY)';
    return new EngineError('memory_limit', `the query took more memory than Trino gives it ${limit}`, { cause });
  }
  if (errorName === 'SYNTAX_ERROR' && isPlaced) {
    const name = context.parameterAt(lineNumber, columnNumber);
    const misplaced = `no value can stand at {{${name}}}: a parameter is a value, not a name or a part of the SQL`;
    if (name !== undefined) return new EngineError('syntax_error', misplaced, { ...place, cause });
  }
  const message = messageOf(type, error);
  // What closes our parentheses is nothing that the author wrote.
  const isCut = isPlaced && context.isBehind(lineNumber);
  return new EngineError(
    type,
    isCut ? message.replace(/^mismatched input '\)'/, "mismatched input '<EOF>'") : message,
    {
      ...place,
      cause,
    },
  );
}

/** Of some errors, such as a literal of an unknown type (`E'a'`), the place is in the words alone. */
function placed(error: TrinoError): TrinoError {
  const [prefix = '', line, column] = /^io\.trino\.spi\.TrinoException: line (\d+):(\d+): /.exec(error.message) ?? [];
  if (line === undefined || error.errorLocation !== undefined) return error;
  const errorLocation = { lineNumber: Number(line), columnNumber: Number(column) };
  return { ...error, message: error.message.slice(prefix.length), errorLocation };
}

function typeOf({ errorName, errorType, errorLocation }: TrinoError): EngineErrorType {
  const known = BY_NAME[errorName];
  if (known !== undefined) return known;
  switch (errorType) {
    case 'USER_ERROR':
      return errorLocation === undefined ? 'execution_error' : 'syntax_error';
    // Whatever Trino asks: a file, a database, a table format.
    case 'EXTERNAL':
      return 'wrong_source';
    default:
      return 'engine_error';
  }
}

function messageOf(type: EngineErrorType, error: TrinoError): string {
  // Messages of connectors name hosts and paths, and those of faults the inside of Trino.
  if (error.errorType === 'EXTERNAL') return `a source table cannot be read; Trino says ${error.errorName}`;
  // Such as a limit of the cluster: the same query meets it again.
  if (type === 'engine_error' && error.errorType === 'INSUFFICIENT_RESOURCES') {
    return `Trino did not run the query to its end, and says ${error.errorName}: ${said(error)}`;
  }
  if (type === 'engine_error') return `Trino could not run the query, and says ${error.errorName}; run it again`;
  return said(error);
}

function said({ message }: TrinoError): string {
  const text = message
    .replace(/^line \d+:\d+: /, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return shortened(text, MESSAGE_CHARS_MAX);
}
