/**
 * DuckDB's errors → EngineError. DuckDB says the kind in its first words (`Binder Error: …`) and the place as an excerpt
 * of the line with a caret below; both are read here and nowhere else. What it says in between becomes words of ours (engine-words.ts).
 */
import { EngineError, type EngineErrorType } from '../engine.ts';
import { type BoundSql, placeIn } from '../sql/bind-parameters.ts';
import type { RefusedStatement } from './check-statement.ts';
import { ownFileWords, ownWords, quotedWords } from './engine-words.ts';

/** Of a query that might well succeed: the cause says the rest to whoever runs the service. */
export const NOT_THE_QUERYS_FAULT = 'the query failed by a fault that is not its own; run it again';

/** Memory, and what may be written to disk instead of it. */
const TOO_MUCH_MEMORY = 'the query took more memory than it may (QRS_ENGINE_MEMORY)';

const SAID_CHARS_MAX = 2000;

export interface ErrorContext {
  /** The SQL as its author wrote it, and as DuckDB has it. */
  readonly sql: string;
  readonly bound: Pick<BoundSql, 'text' | 'originalOffset' | 'parameterAt'>;
  /** Lines of the statement above the first line of the SQL. */
  readonly linesBefore: number;
}

const TYPES: readonly (readonly [prefix: string, type: EngineErrorType])[] = [
  ['Binder Error', 'syntax_error'],
  ['Catalog Error', 'syntax_error'],
  ['Syntax Error', 'syntax_error'],
  ['Conversion Error', 'execution_error'],
  ['Out of Range Error', 'execution_error'],
  ['Invalid Input Error', 'execution_error'],
  ['Not implemented Error', 'execution_error'],
  ['Out of Memory Error', 'memory_limit'],
];

export function toEngineError(error: unknown, context: ErrorContext): EngineError {
  if (error instanceof EngineError) return error;
  const whole = error instanceof Error ? error.message : String(error);
  const type = typeOf(whole);
  const message = messageOf(type, whole);
  const offset = offsetOf(whole, context);
  if (offset === undefined) return new EngineError(type, message, { cause: error });
  return new EngineError(type, message, {
    ...placeIn(context.sql, context.bound.originalOffset(offset)),
    cause: error,
  });
}

/** A source table whose files DuckDB cannot read. */
export function sourceError(name: string, error: Error): EngineError {
  if (typeOf(error.message) === 'memory_limit')
    return new EngineError('memory_limit', TOO_MUCH_MEMORY, { cause: error });
  const message = `source table ${name} cannot be read: ${ownFileWords(saidIn(error.message))}`;
  return new EngineError('wrong_source', message, { cause: error });
}

function typeOf(whole: string): EngineErrorType {
  return TYPES.find(([prefix]) => whole.startsWith(prefix))?.[1] ?? 'engine_error';
}

function messageOf(type: EngineErrorType, whole: string): string {
  const said = saidIn(whole);
  if (type === 'memory_limit') return TOO_MUCH_MEMORY;
  // What is wrong with DuckDB, or with files, whoever wrote the SQL has nothing to do with.
  if (type === 'engine_error') return ownWords(said) ?? NOT_THE_QUERYS_FAULT;
  return ownWords(said) ?? quotedWords(said);
}

/** Without the kind in front and the lines of the statement behind; what is longer than this is a value, which is cut anyway. */
function saidIn(whole: string): string {
  const excerpt = whole.search(/\nLINE \d+: /);
  const said = excerpt < 0 ? whole : whole.slice(0, excerpt).trimEnd();
  return said.slice(0, SAID_CHARS_MAX).replace(/^[A-Z][A-Za-z ]+ Error: /, '');
}

/** A statement that was refused before it came to be run. */
export function refusalError(refused: RefusedStatement, { sql, bound }: ErrorContext): EngineError {
  const { message, place } = refused;
  if (place === undefined) return new EngineError('syntax_error', message);
  const before =
    place.unit === 'bytes'
      ? Buffer.from(bound.text).subarray(0, place.offset).toString()
      : [...bound.text].slice(0, place.offset).join('');
  // What the parser cannot read is there because of the parameter that it cannot read.
  const name = place.unit === 'code_points' ? bound.parameterAt(before.length) : undefined;
  const misplaced = `no value can stand at {{${name}}}: a parameter is a value, not a name or a part of the SQL`;
  const where = placeIn(sql, bound.originalOffset(before.length));
  return new EngineError('syntax_error', name === undefined ? message : misplaced, where);
}

/** Where in the text that DuckDB has, where the message shows it. */
function offsetOf(message: string, { bound, linesBefore }: ErrorContext): number | undefined {
  const match = /\nLINE (\d+): (.*)\n( *)\^/.exec(message);
  if (match === null) return undefined;
  const [, lineText = '', excerpt = '', indent = ''] = match;
  const lines = bound.text.split('\n');
  const index = Number(lineText) - linesBefore - 1;
  const line = lines[index];
  if (line === undefined) return undefined;
  const lineStart = lines.slice(0, index).reduce((sum, { length }) => sum + length + 1, 0);
  // A long line is shown as `...excerpt...`, so the caret counts from where the excerpt begins in the line.
  const start = line.indexOf(excerpt.replace(/^\.\.\.|\.\.\.$/g, ''));
  if (start < 0) return lineStart;
  const caret = indent.length - `LINE ${lineText}: `.length - (excerpt.startsWith('...') ? 3 : 0);
  return lineStart + start + caret;
}
