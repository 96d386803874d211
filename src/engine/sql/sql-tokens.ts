/**
 * The lexical parts of a SQL text as the engine reads them: which characters are code, and which lie in texts, quoted names and
 * comments. It only says where a `{{name}}` stands; whether the text is SQL is for the engine's parser to say.
 */

/** `nested`: a comment within a comment has an end of its own, as in DuckDB. `flat`: the first end ends both, as in Trino. */
export type BlockComments = 'nested' | 'flat';

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
  /** `-- …` and block comments. */
  | 'comment'
  /** `$1`, `$name` or `?`: a parameter of a prepared statement. */
  | 'placeholder';

export interface SqlToken {
  readonly kind: SqlTokenKind;
  readonly text: string;
  /** In UTF-16 units from the start of the SQL. */
  readonly start: number;
}

/** What ends what may stand between the braces: braces, quotes and line breaks. */
const INNER_END = /[{}'"\r\n]/g;

export interface ParameterPlace {
  readonly name: string;
  /** Behind the last brace, in UTF-16 units from the start of the SQL. */
  readonly end: number;
}

/**
 * The `{{name}}` that begins at `start`, with blanks and tabs around its name. Each character is read once, and no second reading is
 * tried: the SQL is a user's, and a pattern that tries several takes minutes for braces that nobody closes.
 */
export function parameterAt(sql: string, start: number): ParameterPlace | undefined {
  if (!sql.startsWith('{{', start)) return undefined;
  INNER_END.lastIndex = start + 2;
  const end = INNER_END.exec(sql)?.index ?? sql.length;
  if (!sql.startsWith('}}', end)) return undefined;
  let [from, to] = [start + 2, end];
  while (from < to && isBlank(sql[from])) from += 1;
  while (from < to && isBlank(sql[to - 1])) to -= 1;
  const name = sql.slice(from, to);
  return name === '' || name.trimEnd() !== name ? undefined : { name, end: end + 2 };
}

/** Every `{{name}}` in a text, in order. */
export function parametersIn(text: string): readonly (ParameterPlace & { readonly start: number })[] {
  const found: (ParameterPlace & { readonly start: number })[] = [];
  for (let start = text.indexOf('{{'); start >= 0; ) {
    const place = parameterAt(text, start);
    if (place !== undefined) found.push({ ...place, start });
    start = text.indexOf('{{', place?.end ?? start + 1);
  }
  return found;
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}

const NAME = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/;

/** Tried in this order at each place. What ends without its closing mark goes to the end of the SQL, where the engine says so. */
const RULES: readonly (readonly [SqlTokenKind, RegExp])[] = [
  ['space', /\s+/y],
  ['comment', /--[^\r\n]*/y],
  ['special_text', /[eE]'(?:[^'\\]|\\[\s\S]|'')*'?/y],
  ['text', /'(?:[^']|'')*'?/y],
  ['quoted_name', /"(?:[^"]|"")*"?/y],
  ['code', new RegExp(NAME.source, 'y')],
  ['code', /[0-9][0-9A-Za-z_.]*/y],
  ['placeholder', /\$[A-Za-z0-9_\u0080-\uffff]+|\?/y],
];

const DOLLAR_QUOTE = new RegExp(`\\$(?:${NAME.source.replace('$', '')})?\\$`, 'y');

/** Every character of the SQL is in one of the tokens. */
export function tokenizeSql(sql: string, comments: BlockComments): readonly SqlToken[] {
  const tokens: SqlToken[] = [];
  let start = 0;
  while (start < sql.length) {
    const { kind, end } = tokenAt(sql, start, comments);
    tokens.push({ kind, text: sql.slice(start, end), start });
    start = end;
  }
  return tokens;
}

function tokenAt(
  sql: string,
  start: number,
  comments: BlockComments,
): { readonly kind: SqlTokenKind; readonly end: number } {
  if (sql.startsWith('/*', start)) {
    return { kind: 'comment', end: comments === 'nested' ? nestedEnd(sql, start) : flatEnd(sql, start) };
  }
  DOLLAR_QUOTE.lastIndex = start;
  const mark = DOLLAR_QUOTE.exec(sql)?.[0];
  if (mark !== undefined) {
    const closing = sql.indexOf(mark, start + mark.length);
    return { kind: 'special_text', end: closing < 0 ? sql.length : closing + mark.length };
  }
  const parameter = parameterAt(sql, start);
  if (parameter !== undefined) return { kind: 'parameter', end: parameter.end };
  for (const [kind, rule] of RULES) {
    rule.lastIndex = start;
    if (rule.test(sql)) return { kind, end: rule.lastIndex };
  }
  return { kind: 'code', end: start + 1 };
}

function flatEnd(sql: string, start: number): number {
  const end = sql.indexOf('*/', start + 2);
  return end < 0 ? sql.length : end + 2;
}

function nestedEnd(sql: string, start: number): number {
  const marks = /\/\*|\*\//g;
  marks.lastIndex = start;
  let depth = 0;
  for (let mark = marks.exec(sql); mark !== null; mark = marks.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return marks.lastIndex;
  }
  return sql.length;
}
