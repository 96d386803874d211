/**
 * Whether a text is a query, for Trino. Its grammar decides that by the first word: statements that begin with SELECT, WITH, VALUES, TABLE
 * or a parenthesis are queries, and no others are. One text is one statement. What the query may read is for Trino's access control.
 */
import { EngineError } from '../engine.ts';
import { errorAt } from '../sql/bind-parameters.ts';
import { type SqlToken, tokenizeSql } from '../sql/sql-tokens.ts';

const FIRST_WORDS = ['SELECT', 'WITH', 'VALUES', 'TABLE'];
/** They begin a query, and set what is to hold while it runs: limits, functions. */
const PREFIXES = ['SESSION', 'FUNCTION'];

/** @throws EngineError, with line and column, where it is another statement, or its parentheses are not its own */
export function requireOneSelect(sql: string): void {
  const words = tokenizeSql(sql, 'flat').filter(({ kind }) => kind !== 'space' && kind !== 'comment');
  const start = words.findIndex(({ text }) => text !== '(');
  const [first, second, third] = words.slice(Math.max(start, 0));
  if (first === undefined || start < 0) throw new EngineError('syntax_error', 'a query is one SELECT: found nothing');
  if (!FIRST_WORDS.includes(upper(first))) throw errorAt(sql, first.start, 'a query is one SELECT, and nothing else');
  const isPrefix = upper(first) === 'WITH' && second !== undefined && PREFIXES.includes(upper(second));
  // A common table may have such a name.
  if (isPrefix && !['AS', '('].includes(upper(third))) {
    throw errorAt(sql, second.start, `a query cannot begin with WITH ${upper(second)}`);
  }
  requireClosed(sql, words);
}

/** The query is looked at within parentheses when it is added: what closes them would be another query then. */
function requireClosed(sql: string, words: readonly SqlToken[]): void {
  let depth = 0;
  for (const { text, start } of words) {
    if (text === '(') depth += 1;
    if (text === ')') depth -= 1;
    if (depth < 0) throw errorAt(sql, start, 'the parenthesis that closes here was never opened');
  }
}

function upper(token: SqlToken | undefined): string {
  return token?.kind === 'code' ? token.text.toUpperCase() : '';
}
