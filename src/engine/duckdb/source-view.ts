/**
 * The SQL that reads one source table, with exactly the columns that were declared, as the types that were declared. CSV
 * and NDJSON are read as text first: guessed types would turn the 22 digits of a share count into a double.
 */
import type { ColumnType } from '../../domain/column-type.ts';
import { escapeGlob } from '../../duckdb/escape-glob.ts';
import { significantDigits } from '../../duckdb/exact-double.ts';
import {
  hasNumberMark,
  losesDigits,
  losesWriting,
  NUMBER_MARK,
  unwrapNumbers,
  wrapNumbers,
} from '../../duckdb/exact-json.ts';
import { quoteName, quoteText } from '../../duckdb/quoting.ts';
import { jsonPointer } from '../../duckdb/text-value.ts';
import { EngineError, type SourceColumn } from '../engine.ts';
import type { SourceFiles } from './source-files.ts';
import { convert, typeInJson } from './source-values.ts';

export interface FoundColumn {
  /** As DuckDB has it. */
  readonly name: string;
  /** As the file has it, where that is known to be another: of two names that are one to SQL, DuckDB adds `_1` to the second. */
  readonly written?: string;
  /** As DuckDB writes it. */
  readonly type: string;
  /** Of NDJSON: what its name is. Neither where no line is an object with a key. */
  readonly from?: 'key' | 'folder';
}

/** A statement that answers with the name and the type of each column that the files have. */
export function describeSource(files: SourceFiles): string {
  return `DESCRIBE FROM ${scan(files, '')}`;
}

/**
 * A statement that answers with the keys of NDJSON files, in the order in which they appear, and null for a row without one. DESCRIBE looks
 * at the first rows alone.
 */
export function keysOfSource(files: SourceFiles): string {
  const keys = 'SELECT json_keys(json) AS keys, row_number() OVER () AS n';
  const each = `SELECT unnest(CASE WHEN keys = [] THEN [NULL] ELSE keys END) AS key, n FROM (${keys} FROM ${objectsOf(files)})`;
  return `SELECT key FROM (${each}) GROUP BY key ORDER BY min(n)`;
}

/** As `describeSource`, of the columns that are the names of folders, after one of the objects. */
export function describePartitions(files: SourceFiles): string {
  return `DESCRIBE FROM ${objectsOf(files)}`;
}

/**
 * A statement that answers with the first number of these keys, if there is one, of which DuckDB would lose a digit, with its key and its file: of a number
 * with a fraction or an exponent it reads a double, whatever the column's type is.
 */
export function roundedNumbers(files: SourceFiles, keys: readonly string[]): string {
  const lines = `SELECT json::VARCHAR AS json, filename FROM ${objectsOf(files, 'filename = true')}`;
  const list = (texts: readonly string[]) => `[${texts.map(quoteText).join(', ')}]`;
  const wrapped = `json_extract(CAST(${wrapNumbers('json')} AS JSON), ${list(keys.map(jsonPointer))})::VARCHAR[]`;
  const cells = `SELECT unnest(${list(keys)}) AS key, unnest(${wrapped}) AS cell, filename FROM (${lines}) WHERE ${losesDigits('json')}`;
  const each = `unnest(regexp_extract_all(cell, '"${NUMBER_MARK}([^"]*)"', 1))`;
  const numbers = `SELECT key, ${each} AS number, filename FROM (${cells}) WHERE ${hasNumberMark('cell')}`;
  const digits = significantDigits('number');
  const isRounded = `${losesDigits(`'[' || number || ']'`)} AND NOT coalesce(${digits} = ${significantDigits('TRY_CAST(number AS DOUBLE)::VARCHAR')}, false)`;
  return `SELECT key, number, filename FROM (${numbers}) WHERE ${isRounded} LIMIT 1`;
}

/** A statement that answers with a row if DuckDB would write a number of NDJSON files in another way, be it only 1.50 as 1.5. */
export function rewrittenNumbers(files: SourceFiles): string {
  return `SELECT 1 FROM (SELECT json::VARCHAR AS json FROM ${objectsOf(files)}) WHERE ${losesWriting('json')} LIMIT 1`;
}

function objectsOf(files: SourceFiles, option = ''): string {
  const options = option === '' ? '' : `, ${option}`;
  return `read_json_objects(${listOf(files)}, format = 'newline_delimited', hive_partitioning = ${files.partitioned}${options})`;
}

/**
 * The SELECT behind the view.
 * @param declared the columns that are read and their types; undefined: all that the files have. Parquet says of what type they
 *   are, CSV and NDJSON do not, and theirs are texts, for the SQL to cast.
 * @param found the columns that the files have, as DESCRIBE names and types them
 * @throws EngineError wrong_source naming the columns that are missing.
 */
export function sourceView(
  name: string,
  declared: readonly SourceColumn[] | undefined,
  files: SourceFiles,
  found: readonly FoundColumn[],
): string {
  const [only, ...others] = found;
  if (files.format === 'csv' && only !== undefined && others.length === 0 && SEPARATOR.test(only.name)) {
    const problem = `its lines do not have as many values as the first, ${JSON.stringify(only.name)}`;
    throw new EngineError('wrong_source', `source table ${name} cannot be read: ${problem}`);
  }
  if (declared === undefined) {
    refuseKeys(name, found);
    return viewOfAll(files, found);
  }
  const meant = columnsMeant(name, declared, found);
  const isJson = files.format === 'ndjson';
  const columns = meant.map(({ said, type, column }, i) => {
    const place = { table: name, column: said };
    const read = convert(`s${i}`, type, isJson ? typeInJson(type) : column.type, place);
    return `${read} AS ${quoteName(said)}`;
  });
  const types = meant.map(({ column, type }) => [column.name, typeInJson(type)] as const);
  // Under their own names, they would be taken for parameters of lambdas.
  const read = meant.map(({ column, type }, i) => {
    // A quoted empty field of CSV: no value of any other type, but what programs that quote every field write for null.
    const emptyIsNull = files.format === 'csv' && column.type === 'VARCHAR' && type.kind !== 'varchar';
    const value = quoteName(column.name);
    return `${emptyIsNull ? `NULLIF(${value}, '')` : value} AS s${i}`;
  });
  return `SELECT ${columns.join(', ')} FROM (SELECT ${read.join(', ')} FROM ${scan(files, ndjsonColumns(types, true))})`;
}

interface MeantColumn {
  /** As it is declared. */
  readonly said: string;
  readonly type: ColumnType;
  readonly column: FoundColumn;
}

/**
 * The columns of exactly the declared names, or else the only ones that differ in case alone.
 * @throws EngineError wrong_source naming the columns that are missing, or those of which each could be meant
 */
export function columnsMeant(
  name: string,
  declared: readonly SourceColumn[],
  found: readonly FoundColumn[],
): readonly MeantColumn[] {
  const inFile = (column: FoundColumn) => column.written ?? column.name;
  const byName = Map.groupBy(found, (column) => inFile(column).toLowerCase());
  const missing = declared.filter((column) => !byName.has(column.name.toLowerCase()));
  if (missing.length > 0) {
    const instead = found.length === 0 ? 'its lines have no keys' : `found ${found.map(inFile).join(', ')}`;
    throw new EngineError(
      'wrong_source',
      `source table ${name} has no column ${missing.map((c) => c.name).join(', ')}: ${instead}`,
    );
  }
  return declared.flatMap(({ name: said, type }) => {
    const alike = byName.get(said.toLowerCase()) ?? [];
    const exact = alike.filter((column) => inFile(column) === said);
    const [column, ...others] = exact.length > 0 ? exact : alike;
    if (others.length > 0) throw severalMeant(name, said, alike.map(inFile));
    return column === undefined ? [] : { said, type, column };
  });
}

export function severalMeant(name: string, said: string, names: readonly string[]): EngineError {
  const listed = names.map((one) => JSON.stringify(one)).join(' and ');
  const problem = `has the columns ${listed}, and each of them could be ${JSON.stringify(said)}: rename one`;
  return new EngineError('wrong_source', `source table ${name} ${problem}`);
}

/** A statement that answers with a row if an object of NDJSON has the key `other`, and not `key`. */
export function objectsWithout(files: SourceFiles, key: string, other: string): string {
  const has = (name: string) => `json_exists(json, ${quoteText(jsonPointer(name))})`;
  return `SELECT 1 FROM ${objectsOf(files)} WHERE ${has(other)} AND NOT ${has(key)} LIMIT 1`;
}

/** A statement that answers with the first line of a CSV file. */
export function firstLine(path: string): string {
  return `FROM ${csv(`[${quoteText(escapeGlob(path))}]`, 'header = false')} LIMIT 1`;
}

/** Of NDJSON alone: DuckDB renames columns of the other kinds. */
function refuseKeys(name: string, found: readonly FoundColumn[]): void {
  const names = found.map((column) => column.name);
  if (found.some((column) => column.name === '' && column.from === 'key')) {
    const problem = 'has an empty key (""), and SQL has no empty names: rename it, or leave it out';
    throw new EngineError('wrong_source', `source table ${name} ${problem}`);
  }
  refuseOneTwice(name, names, 'keys');
}

/** @throws EngineError wrong_source naming two of the names that differ at most in case */
export function refuseOneTwice(name: string, names: readonly string[], what: 'keys' | 'columns'): void {
  const seen = new Map<string, string>();
  for (const one of names) {
    const other = seen.get(one.toLowerCase());
    if (other !== undefined) {
      const both = `${JSON.stringify(other)} and ${JSON.stringify(one)}`;
      throw new EngineError(
        'wrong_source',
        `source table ${name} has the ${what} ${both}, which to SQL are one: rename one`,
      );
    }
    seen.set(one.toLowerCase(), one);
  }
}

/** In the name of the one column there is: DuckDB found no way to divide all lines alike. */
const SEPARATOR = /[,;|\t]/;

function viewOfAll(files: SourceFiles, found: readonly FoundColumn[]): string {
  const types = found.map((column) => [column.name, 'VARCHAR'] as const);
  return `FROM ${scan(
    files,
    ndjsonColumns(
      types,
      found.some((column) => column.from === 'key'),
    ),
  )}`;
}

/**
 * The SELECT behind the view of NDJSON without declared columns in which DuckDB would write numbers in another way: of such a line it is given the numbers as
 * texts. It takes five times as long as `sourceView`.
 * @throws EngineError wrong_source where two keys are one to SQL
 */
export function exactSourceView(name: string, files: SourceFiles, found: readonly FoundColumn[]): string {
  refuseKeys(name, found);
  const keys = found.filter((column) => column.from !== 'folder').map((column) => column.name);
  const folders = found.filter((column) => column.from === 'folder').map((column) => quoteName(column.name));
  const more = folders.map((column) => `, ${column}`).join('');
  // In the words of DuckDB for what it refuses itself.
  const fail = (said: string) => `error('JSON transform error in file "' || filename || '", in line 0: ' || ${said})`;
  const twice = 'list_filter(json_keys(json), lambda key, i: list_position(json_keys(json), key) < i)[1]';
  const isMarked = `CASE WHEN substr(ltrim(json, e' \\t\\r'), 1, 1) NOT IN ('{', 'n') THEN ${fail("'Expected OBJECT, but got another'")}
    WHEN len(json_keys(json)) <> len(list_distinct(json_keys(json))) THEN ${fail(`'Object has duplicate key "' || ${twice} || '"'`)}
    WHEN NOT ${losesWriting('json')} THEN false WHEN ${hasNumberMark('json')} THEN ${fail("'U+FDD0'")} ELSE true END`;
  const lines = `SELECT json::VARCHAR AS json, filename${more} FROM ${objectsOf(files, 'filename = true')}`;
  const types = quoteText(JSON.stringify(Object.fromEntries(keys.map((key) => [key, 'VARCHAR']))));
  const read = `json_transform(CASE WHEN marked THEN CAST(${wrapNumbers('json')} AS JSON) ELSE json END, ${types})`;
  // A condition on the columns stays above the unnest: below it, DuckDB would read the line again for each of them.
  const rows = `SELECT marked, unnest([${read}]) AS line${more} FROM (SELECT json, ${isMarked} AS marked${more} FROM (${lines}))`;
  const columns = keys.map((key) => {
    const text = `struct_extract(line, ${quoteText(key)})`;
    const unmarked = `CASE WHEN starts_with(${text}, '${NUMBER_MARK}') THEN substr(${text}, 2) ELSE ${unwrapNumbers(text)} END`;
    return `CASE WHEN marked THEN ${unmarked} ELSE ${text} END AS ${quoteName(key)}`;
  });
  return `SELECT ${[...columns, ...folders].join(', ')} FROM (${rows})`;
}

/** @param records Left to itself, DuckDB takes the whole line for the value of an only column where one of the first lines is no object. */
function ndjsonColumns(types: readonly (readonly [name: string, type: string])[], records: boolean): string {
  const columns = types.map(([name, type]) => `${quoteText(name)}: ${quoteText(type)}`).join(', ');
  return `, columns = {${columns}}${records ? ", records = 'true'" : ''}`;
}

function scan(files: SourceFiles, ndjsonColumns: string): string {
  const pattern = listOf(files);
  const partitions = `hive_partitioning = ${files.partitioned}`;
  switch (files.format) {
    case 'parquet':
      return `read_parquet(${pattern}, union_by_name = true, ${partitions})`;
    case 'csv':
      return csv(pattern, `header = true, allow_quoted_nulls = false, union_by_name = true, ${partitions}`);
    case 'ndjson':
      return `read_json(${pattern}, format = 'newline_delimited', union_by_name = true, ${partitions}${ndjsonColumns})`;
    default:
      return files.format satisfies never;
  }
}

/** Left to itself, DuckDB skips the lines at the top that do not go with the rest, and those that begin with #, and takes other characters for quotes. */
function csv(pattern: string, options: string): string {
  return `read_csv(${pattern}, all_varchar = true, skip = 0, comment = '', quote = '"', escape = '"', ${options})`;
}

function listOf({ patterns }: SourceFiles): string {
  return `[${patterns.map(quoteText).join(', ')}]`;
}
