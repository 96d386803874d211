/**
 * What DuckDB says of a user's SQL → the same in words of ours, with the facts that it names: its own words speak of settings and files that
 * whoever asks has nothing to do with. A table, searched from its top. What is in none of its rows is quoted as DuckDB's, if it
 * is about the SQL or its values, and otherwise not told at all.
 */
import { counted } from '../../domain/counted.ts';
import { nearest } from '../../domain/nearest.ts';
import { shortened } from '../../domain/shortened.ts';
import { typeName, unknownType } from './engine-type-names.ts';

type Facts = readonly string[];
type Words = readonly (readonly [said: RegExp, ours: (facts: Facts) => string])[];

const CUT = 80;

const SYNTAX: Words = [
  [/^syntax error at end of input/, () => 'the SQL ends where something must follow'],
  [/^syntax error at or near "(.*)"$/s, ([word = '']) => `the SQL cannot be read from ${quoted(word)} on`],
  [/^unterminated quoted identifier/, () => 'the name that begins here has no closing quote'],
  [/^unterminated (?:quoted|dollar-quoted|bit|hex) string/, () => 'the text that begins here has no closing quote'],
  [/^unterminated \/\* comment/, () => 'the comment that begins here has no end'],
  [/^zero-length delimited identifier/, () => 'a name in quotes is empty'],
  [/^SELECT clause without selection list/, () => 'SELECT names no columns'],
  [/^Wrong number of arguments to (\w+)/, ([name]) => `${name}() has another number of arguments`],
];

const NAMES: Words = [
  [
    /^Referenced column "(.*?)" (?:not found|was not found).*?(?:\n+Candidate bindings: (.*))?$/s,
    ([name = '', others]) => `there is no column ${quoted(name)}${didYouMean(name, others)}`,
  ],
  [
    /"([^"]*)" does not have a column named "(.*?)"(?:\s+Candidate bindings: :? ?(.*))?$/s,
    ([table = '', name = '', others]) => `${quoted(table)} has no column ${quoted(name)}${didYouMean(name, others)}`,
  ],
  [
    /^Referenced table "(.*?)" not found!?(?:\s+Candidate tables: (.*))?/s,
    ([name = '', others]) =>
      `the SQL reads no table ${quoted(name)}${others === undefined ? '' : `, but ${listed(others)}`}`,
  ],
  [
    /^Ambiguous reference to .*?"(.*?)" \(use: (.*)\)/s,
    ([name = '', ways = '']) => `${quoted(name)} may be several columns: write ${ways}`,
  ],
  [
    /^Column "(.*?)" does not exist on (left|right) side of join/,
    ([name = '', side]) => `there is no column ${quoted(name)} on the ${side} side of the join`,
  ],
  [
    /^Column "(.*?)" in (\w+) list not found/,
    ([name = '', list]) => `${list} names no column of these: ${quoted(name)}`,
  ],
  [/^No matching columns found that match regex "(.*?)"/, ([name = '']) => `no column matches ${quoted(name)}`],
  [
    /^Could not find key "(.*?)" in struct(?:\s+Candidate Entries: (.*))?/s,
    ([name = '', others]) => `there is no field ${quoted(name)}${didYouMean(name, others)}`,
  ],
  [
    /Function with name (\S+) does not exist!(?:\s+Did you mean "(.*?)"\?)?/,
    ([name = '', other]) =>
      WINDOW_FUNCTIONS.has(name.toLowerCase())
        ? `${name}() needs a window: ${name}(…) OVER (ORDER BY …)`
        : `there is no function ${name}()${didYouMean(name, other && `"${other}"`)}`,
  ],
  [/^Type with name (\S+) does not exist/, ([name = '']) => unknownType(name)],
  [
    /^No columns found to join on in NATURAL JOIN/,
    () => 'NATURAL JOIN finds no column that both sides have: say which with ON',
  ],
];

const FORM: Words = [
  [
    /^column "?(.*?)"? must appear in the GROUP BY clause/,
    ([name = '']) =>
      `${quoted(name)} is neither in GROUP BY nor in an aggregate: group by it, or take any_value(${name})`,
  ],
  [
    /^(.+?) clause cannot contain aggregates/,
    ([clause]) => `${clause} cannot hold aggregates: conditions on these go into HAVING`,
  ],
  [
    /^(.+?) clause cannot contain window functions/,
    ([clause]) => `${clause} cannot hold window functions: conditions on these go into QUALIFY`,
  ],
  [/^aggregate function calls cannot be nested/, () => 'an aggregate cannot stand in an aggregate: take a subquery'],
  [
    /^Set operations can only apply/,
    () => 'the sides of UNION, INTERSECT and EXCEPT must have the same number of columns',
  ],
  [/^VALUES lists must all be the same length/, () => 'the rows of VALUES must have the same number of columns'],
  [/^(ORDER|GROUP BY) term out of range - should be between 1 and (\d+)/, ([by, count]) => outOfColumns(by, count)],
  [/^LIMIT\/OFFSET cannot be negative/, () => 'LIMIT and OFFSET cannot be negative'],
  [
    /^Subquery returns (\d+) columns - expected (\d+)/,
    ([found, wanted]) => `a subquery has ${found} columns where ${wanted} must be`,
  ],
  [
    /^More than one row returned by a subquery/,
    () => 'a subquery that stands for one value gave several rows: take an aggregate of them, or LIMIT 1',
  ],
];

const TYPES: Words = [
  [
    /No function matches the given name and argument types '(.*?)\((.*?)\)'/s,
    ([name = '', types = '']) => noFunction(name, types),
  ],
  [
    /^Could not choose a best candidate function for the function call "(.*?)\((.*?)\)"/,
    ([name = '', types = '']) => noFunction(name, types),
  ],
  [
    /^Cannot (?:mix values of type|combine types) (.*?) and (.*?)(?: in (\S+)| -|$)/,
    ([a = '', b = '']) => `${typeName(a)} and ${typeName(b)} cannot stand for one value: cast one of them`,
  ],
  [
    /^Cannot compare values of type (.*?) and (?:type )?(.*?)(?: -| in |$)/,
    ([a = '', b = '']) => `${typeName(a)} cannot be compared with ${typeName(b)}: cast one of them`,
  ],
  [
    /^Unimplemented type for cast \((.*?) -> (.*?)\)/,
    ([from = '', to = '']) => `${typeName(from)} cannot be cast to ${typeName(to)}`,
  ],
  [
    /^UNNEST\(\) can only be applied to .*?, not (.*)$/,
    ([type = '']) => `unnest() takes a list or a struct, not ${typeName(type)}`,
  ],
];

const VALUES: Words = [
  // As source-values.ts says it.
  [
    /^Source value of (\S+) "((?:[^"]|"")*)" "((?:[^"]|"")*)": (.*)$/s,
    ([table, column = '', type = '', value = '']) =>
      `${quoted(value)} in ${quoted(column.replaceAll('""', '"'))} of source table ${table} cannot be read as ${type.replaceAll('""', '"')}`,
  ],
  [
    /^Could not convert string '(.*?)' to (\w+)(?: when casting from source column (.*))?$/s,
    ([value = '', type = '', column]) =>
      `${quoted(value)}${column === undefined ? '' : ` in ${quoted(column)}`} cannot be read as ${typeName(type)}`,
  ],
  [
    /^Could not convert string "(.*?)" to (DECIMAL\(\d+,\s*\d+\))(?: when casting from source column (.*))?$/s,
    ([value = '', type = '', column]) =>
      `${quoted(value)}${column === undefined ? '' : ` in ${quoted(column)}`} cannot be read as ${typeName(type.replace(/,\s*/, ', '))}`,
  ],
  [
    /^invalid (\w+) field format: "(.*?)", expected format is \((.*)\)/s,
    ([type = '', value = '', format]) => `${quoted(value)} cannot be read as ${typeName(type)}: expected ${format}`,
  ],
  [
    /^(\w+) field value out of range: "(.*?)"/,
    ([type = '', value = '']) => `${quoted(value)} is no ${typeName(type)} that there is`,
  ],
  [/^Date out of range: (.*)/, ([value = '']) => `${quoted(value)} is no date that there is`],
  [
    /^Type .*? with value (.*?) can't be cast .* destination type (\w+)/s,
    ([value = '', type = '']) => `${cut(value)} is out of the range of ${typeName(type)}`,
  ],
  [
    /^(?:Could not cast value|Casting value) "?(.*?)"? to (?:type )?(DECIMAL\(.*?\))/,
    ([value = '', type = '']) => `${cut(value)} does not fit into ${typeName(type)}`,
  ],
  [
    /^Overflow in \w+ of ([A-Z0-9_]+(?:\(\d+\))?) \((.*?)\)/,
    ([type = '', sum = '']) => `${cut(sum)} is out of the range of ${typeName(type)}: cast to a wider type`,
  ],
  [/^Overflow in HUGEINT \w+: (.*?)\.?$/, ([sum = '']) => `${cut(sum)} is out of the range of hugeint`],
  [/^(?:Overflow|Value out of range)/, () => 'a value is out of the range of its type: cast to a wider type'],
  [/^cannot take (.*?) of (.*)$/, ([what, number]) => `${article(what)} of ${number} is not defined`],
  [/^Malformed JSON at byte (\d+) of input/, ([byte]) => `a text is not JSON: what is wrong is at its byte ${byte}`],
  [
    /string -> (?:blob|bit) conversion/,
    () => 'a text cannot be read as binary: a backslash stands before x and two hexadecimal digits',
  ],
  [
    /^Failed to parse format specifier (.*?):/s,
    ([format = '']) => `${quoted(format)} is no format of strftime or strptime`,
  ],
  [
    /^Could not parse string "(.*?)" according to format specifier "(.*?)"/s,
    ([value = '', format = '']) => `${quoted(value)} does not have the format ${quoted(format)}`,
  ],
  [/^extract specifier "(.*?)" not recognized/, ([part = '']) => `${quoted(part)} is no part of a time, as "hour" is`],
  [/^Unknown TimeZone '(.*?)'/, ([zone = '']) => `there is no time zone ${quoted(zone)}`],
  [
    /^(?:missing|invalid|bad|no argument for|unexpected) .*: (.*)$/,
    ([pattern = '']) => `${quoted(pattern)} is no regular expression`,
  ],
];

const CSV_LINES: Words = [
  [
    /CSV Error on Line: (\d+)[\s\S]*Expected Number of Columns: (\d+) Found: (\d+)/,
    ([line, wanted, found]) => `line ${line} has ${counted(Number(found), 'value')}, and the others have ${wanted}`,
  ],
  [/CSV Error on Line: (\d+)[\s\S]*(?:unicode|utf-8)/i, ([line]) => `line ${line} of the CSV is not UTF-8`],
  [
    /CSV Error on Line: (\d+)[\s\S]*unterminated/i,
    ([line]) => `line ${line} of the CSV has a quote that is not closed`,
  ],
  [/CSV Error on Line: (\d+)/, ([line]) => `line ${line} of the CSV is malformed`],
];

const BAD_JSON: Words[number] = [
  /^Malformed JSON in file ".*?([^/\\]*)", .*in line (\d+)/,
  ([file, line]) => `${file}: near line ${line} is no JSON`,
];

const UTF_16: Words[number] = [
  /^Malformed JSON in file ".*?([^/\\]*)", .*UTF-16 encoding/,
  ([file]) => `${file}: the file is UTF-16 text, expected UTF-8: save it as UTF-8`,
];

/** DuckDB's numbers of lines are approximate: some are too low, some too high by one. The file is named instead. */
const NDJSON_FILES: Words = [
  [
    /^JSON transform error in file ".*?([^/\\]*)", in line \d+: (.*)/,
    ([file = '', said = '']) =>
      `${file}: ${find([...JSON_VALUES, ...VALUES], said) ?? 'a value is not of the type of its column'}`,
  ],
  UTF_16,
  BAD_JSON,
];

const JSON_VALUES: Words = [
  [
    /^Unable to cast '(.*)' to ([A-Z0-9_(), ]+)$/,
    ([value = '', type = '']) => `${quoted(value)} cannot be read as ${typeName(type)}`,
  ],
  // Where the object is long, its end is cut off, and the key with it.
  [
    /^Object (?:.*has duplicate key "(.*?)"(?:\n|$))?/s,
    ([key]) => `an object has ${key === undefined ? 'a key' : `the key ${quoted(key)}`} twice`,
  ],
  [/^Expected OBJECT, but got/, () => 'an object is expected, and another value found'],
  [
    /^U\+FDD0/,
    () =>
      'a text holds U+FDD0, which is no character: beside a number with a fraction or an exponent it cannot be read; put the number in quotes, or leave U+FDD0 out',
  ],
];

const FILES: Words = [
  ...CSV_LINES,
  [/sniffing file|CSV/, () => 'it is no CSV that can be read'],
  UTF_16,
  BAD_JSON,
  [/JSON/, () => 'it is no NDJSON that can be read'],
  [/Parquet|magic bytes|thrift/i, () => 'it is no Parquet file, or a damaged one'],
];

const OF_SQL: Words = [...SYNTAX, ...NAMES, ...FORM, ...TYPES, ...VALUES];

/** Only with OVER, and then DuckDB says that there is no such function. */
const WINDOW_FUNCTIONS: ReadonlySet<string> = new Set(
  'row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value fill'.split(' '),
);

/** @param said without the kind of error in front @returns undefined: not known */
export function ownWords(said: string): string | undefined {
  const ofSql = find(OF_SQL, said);
  if (ofSql !== undefined) return ofSql;
  for (const [kind, words] of [
    ['a CSV', CSV_LINES],
    ['an NDJSON', NDJSON_FILES],
  ] as const) {
    const ofFile = find(words, said);
    if (ofFile !== undefined) return `${kind} file of a source table cannot be read: ${ofFile}`;
  }
  return undefined;
}

/** Of a file of a source table that cannot be read. */
export function ownFileWords(said: string): string {
  return find(FILES, said) ?? 'a file of it cannot be read';
}

/** What is not known, as DuckDB's own: its first sentence, without paths and advice on settings. */
export function quotedWords(said: string): string {
  const [first = ''] = said.trim().split(/\n|(?<=[.!])\s/, 1);
  const isTold = first !== '' && !/\bSET\b|\bPRAGMA\b|[/\\]\w+[/\\]/.test(first);
  return isTold ? `the query failed; DuckDB says: ${quoted(first)}` : 'the query failed';
}

function find(words: Words, said: string): string | undefined {
  for (const [pattern, ours] of words) {
    const match = pattern.exec(said);
    if (match !== null) return ours(match.slice(1));
  }
  return undefined;
}

function quoted(text: string): string {
  return `"${cut(text)}"`;
}

function cut(text: string): string {
  return shortened(text.replaceAll(/\s+/g, ' '), CUT);
}

function namesOf(list: string): readonly string[] {
  return [...list.matchAll(/"([^"]*)"/g)].map(([, name = '']) => name);
}

function listed(list: string): string {
  return namesOf(list).map(quoted).join(', ');
}

/** DuckDB's candidates may be far off. @param others names in quotes */
function didYouMean(name: string, others: string | undefined): string {
  const near = nearest(name, others === undefined ? [] : namesOf(others));
  return near.length === 0 ? '' : `; did you mean ${near.map(quoted).join(' or ')}?`;
}

function noFunction(name: string, types: string): string {
  if (types === '') return `${name}() needs arguments`;
  const taken = types
    .split(/, (?![^(]*\))/)
    .map(typeName)
    .join(' and ');
  return /^\W+$/.test(name)
    ? `${name} does not go with ${taken}: cast to types with which it does`
    : `${name}() does not take ${taken}: cast to what it takes`;
}

function outOfColumns(by: string | undefined, count: string | undefined): string {
  return `${by === 'ORDER' ? 'ORDER BY' : by}: a number names a column of the SELECT, which has ${count}`;
}

function article(what: string | undefined): string {
  return /^(?:the|a|an) /.test(what ?? '') ? (what ?? '') : `the ${what}`;
}
