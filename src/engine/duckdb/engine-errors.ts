/**
 * DuckDB's errors → EngineError. DuckDB says the kind in its first words (`Binder Error: …`) and the place as an excerpt
 * of the line with a caret below; both are read here and nowhere else.
 */
import { EngineError, type EngineErrorType } from '../engine.ts';

export interface ErrorContext {
  /** Taken out of messages: an error says no path of this machine. */
  readonly sourcesDirectory: string;
  /** Lines of the statement above the first line of the SQL. */
  readonly linesBefore: number;
}

const TYPES: readonly (readonly [prefix: string, type: EngineErrorType])[] = [
  ['Parser Error', 'syntax_error'],
  ['Binder Error', 'syntax_error'],
  ['Catalog Error', 'syntax_error'],
  ['Syntax Error', 'syntax_error'],
  ['Conversion Error', 'execution_error'],
  ['Out of Range Error', 'execution_error'],
  ['Invalid Input Error', 'execution_error'],
  ['Out of Memory Error', 'memory_limit'],
];

export function toEngineError(error: unknown, sql: string, context: ErrorContext): EngineError {
  if (error instanceof EngineError) return error;
  const whole = error instanceof Error ? error.message : String(error);
  const type = TYPES.find(([prefix]) => whole.startsWith(prefix))?.[1] ?? 'engine_error';
  const message = (whole.split(/\n\s*\nLINE \d+: /, 1)[0] ?? whole)
    .replaceAll(context.sourcesDirectory, 'QRS_SOURCES_DIR')
    .replace(/^[A-Z][A-Za-z ]+ Error: /, '');
  return new EngineError(type, message, { ...placeOf(whole, sql, context.linesBefore), cause: error });
}

/** Line and column in the SQL, from 1, where the message shows them. */
function placeOf(message: string, sql: string, linesBefore: number): { line?: number; column?: number } {
  const match = /\nLINE (\d+): (.*)\n( *)\^/.exec(message);
  if (match === null) return {};
  const [, lineText = '', excerpt = '', indent = ''] = match;
  const line = Number(lineText) - linesBefore;
  const text = sql.split('\n')[line - 1];
  if (text === undefined) return {};
  // A long line is shown as `...excerpt...`, so the caret counts from where the excerpt begins in the line.
  const start = text.indexOf(excerpt.replace(/^\.\.\.|\.\.\.$/g, ''));
  if (start < 0) return { line };
  const caret = indent.length - `LINE ${lineText}: `.length - (excerpt.startsWith('...') ? 3 : 0);
  return { line, column: start + caret + 1 };
}
