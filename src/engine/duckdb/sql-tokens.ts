/**
 * The lexical parts of a SQL text as DuckDB reads them: which characters are code, and which lie in texts, quoted names and
 * comments. It only says where a `{{name}}` stands; whether the text is SQL is for DuckDB's parser to say.
 */

export type SqlTokenKind =
  | 'space'
  /** Keywords, names without quotes, numbers, operators. */
  | 'code'
  /** `{{name}}` among the code. */
  | 'parameter'
  /** `'…'` */
  | 'text'
  /** `e'…'` and `$tag$…$tag$`, in which characters mean other things. */
  | 'special_text'
  /** `"…"` */
  | 'quoted_name'
  /** `-- …` and nested block comments. */
  | 'comment'
  /** `$1`, `$name` or `?`: a parameter of a prepared statement. */
  | 'placeholder';

export interface SqlToken {
  readonly kind: SqlTokenKind;
  readonly text: string;
  /** In UTF-16 units from the start of the SQL. */
  readonly start: number;
}

/** What may stand between the braces: anything but braces, quotes and line breaks. */
export const PARAMETER = /\{\{[ \t]*([^{}'"\r\n]*[^{}'"\s])[ \t]*\}\}/;

const NAME = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/;

/** Tried in this order at each place. What ends without its closing mark goes to the end of the SQL, where DuckDB says so. */
const RULES: readonly (readonly [SqlTokenKind, RegExp])[] = [
  ['space', /\s+/y],
  ['comment', /--[^\r\n]*/y],
  ['special_text', /[eE]'(?:[^'\\]|\\[\s\S]|'')*'?/y],
  ['text', /'(?:[^']|'')*'?/y],
  ['quoted_name', /"(?:[^"]|"")*"?/y],
  ['parameter', new RegExp(PARAMETER.source, 'y')],
  ['code', new RegExp(NAME.source, 'y')],
  ['code', /[0-9][0-9A-Za-z_.]*/y],
  ['placeholder', /\$[A-Za-z0-9_\u0080-\uffff]+|\?/y],
];

const DOLLAR_QUOTE = new RegExp(`\\$(?:${NAME.source.replace('$', '')})?\\$`, 'y');

/** Every character of the SQL is in one of the tokens. */
export function tokenizeSql(sql: string): readonly SqlToken[] {
  const tokens: SqlToken[] = [];
  let start = 0;
  while (start < sql.length) {
    const { kind, end } = tokenAt(sql, start);
    tokens.push({ kind, text: sql.slice(start, end), start });
    start = end;
  }
  return tokens;
}

function tokenAt(sql: string, start: number): { readonly kind: SqlTokenKind; readonly end: number } {
  if (sql.startsWith('/*', start)) return { kind: 'comment', end: blockCommentEnd(sql, start) };
  DOLLAR_QUOTE.lastIndex = start;
  const mark = DOLLAR_QUOTE.exec(sql)?.[0];
  if (mark !== undefined) {
    const closing = sql.indexOf(mark, start + mark.length);
    return { kind: 'special_text', end: closing < 0 ? sql.length : closing + mark.length };
  }
  for (const [kind, rule] of RULES) {
    rule.lastIndex = start;
    if (rule.test(sql)) return { kind, end: rule.lastIndex };
  }
  return { kind: 'code', end: start + 1 };
}

/** They nest. */
function blockCommentEnd(sql: string, start: number): number {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = start;
  let depth = 0;
  for (let mark = marks.exec(sql); mark !== null; mark = marks.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return marks.lastIndex;
  }
  return sql.length;
}
