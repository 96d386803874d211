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
import { storageType } from '../../duckdb/storage-type.ts';
import { jsonPointer, textToStored } from '../../duckdb/text-value.ts';
import { EngineError, type SourceColumn } from '../engine.ts';
import type { SourceFiles } from './source-files.ts';

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
    refuseOneTwice(name, found);
    return viewOfAll(files, found);
  }
  const meant = columnsMeant(name, declared, found);
  const isJson = files.format === 'ndjson';
  const columns = meant.map(({ said, type, column }) => {
    const read = convert(quoteName(column.name), type, isJson ? typeInJson(type) : column.type);
    return `${read} AS ${quoteName(said)}`;
  });
  const types = meant.map(({ column, type }) => [column.name, typeInJson(type)] as const);
  return `SELECT ${columns.join(', ')} FROM ${scan(files, ndjsonColumns(types, true))}`;
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
function refuseOneTwice(name: string, found: readonly FoundColumn[]): void {
  const seen = new Map<string, string>();
  for (const column of found) {
    const other = seen.get(column.name.toLowerCase());
    if (other !== undefined) {
      const keys = `${JSON.stringify(other)} and ${JSON.stringify(column.name)}`;
      throw new EngineError(
        'wrong_source',
        `source table ${name} has the keys ${keys}, which to SQL are one: rename one`,
      );
    }
    seen.set(column.name.toLowerCase(), column.name);
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
  refuseOneTwice(name, found);
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

/**
 * The type with texts in place of decimals and whole numbers: of a number in JSON, DuckDB makes 1.100000000000000128 for 1.1 where a decimal is wanted, and 2 for
 * 1.5 where a bigint is.
 */
function asTexts(type: ColumnType): ColumnType {
  switch (type.kind) {
    case 'tinyint':
    case 'smallint':
    case 'integer':
    case 'bigint':
    case 'uint256':
    case 'decimal':
      return { kind: 'varchar' };
    case 'array':
      return { ...type, element: asTexts(type.element) };
    case 'map':
      return { ...type, value: asTexts(type.value) };
    case 'row':
      return { ...type, fields: type.fields.map((field) => ({ ...field, type: asTexts(field.type) })) };
    default:
      return type;
  }
}

/** As which type a value is read from NDJSON. */
function typeInJson(type: ColumnType): string {
  return sqlType(asTexts(type));
}

/** As `storageType`, but that the fields of rows have their names: the SQL of a query says them. */
function sqlType(type: ColumnType): string {
  switch (type.kind) {
    case 'array':
      return `${sqlType(type.element)}[]`;
    case 'map':
      return `MAP(${sqlType(type.key)}, ${sqlType(type.value)})`;
    case 'row':
      return `STRUCT(${type.fields.map((field) => `${quoteName(field.name)} ${sqlType(field.type)}`).join(', ')})`;
    default:
      return storageType(type);
  }
}

/** Whether DuckDB reads all numbers that a value of the type holds as they are meant: as doubles. */
export function isOfDoubles(type: ColumnType): boolean {
  switch (type.kind) {
    case 'real':
    case 'double':
      return true;
    case 'array':
      return isOfDoubles(type.element);
    case 'map':
      return isOfDoubles(type.value);
    case 'row':
      return type.fields.every((field) => isOfDoubles(field.type));
    default:
      return false;
  }
}

/** DuckDB's types of numbers that it casts to a double with two roundings; their text it reads as the nearest double. So it does a double as a decimal. */
const ROUNDED_TWICE = /^(DECIMAL|U?HUGEINT)/;

/** DuckDB's names of the types of whole numbers, as its errors have them. */
const WHOLE_NAMES: Partial<Record<ColumnType['kind'], string>> = {
  tinyint: 'INT8',
  smallint: 'INT16',
  integer: 'INT32',
  bigint: 'INT64',
  uint256: 'INT128',
};

/** @param value SQL @param foundType of it, as DuckDB writes it */
function convert(value: string, type: ColumnType, foundType: string, depth = 0): string {
  const wholeName = WHOLE_NAMES[type.kind];
  if (wholeName !== undefined) return wholeNumber(value, type, foundType, wholeName);
  if (type.kind === 'decimal' && mayBeRounded(type, foundType)) {
    const text = `CAST(${value} AS VARCHAR)`;
    return textToStored(type, text, `error('Could not convert string "' || ${text} || '" to ${storageType(type)}')`);
  }
  if (type.kind === 'array' && isChecked(type.element)) {
    const foundElement = /^(.*)\[\d*\]$/s.exec(foundType)?.[1] ?? 'VARCHAR';
    const list = foundType === 'VARCHAR' ? `CAST(${value} AS VARCHAR[])` : value;
    const member = `member${depth}`;
    return `list_transform(${list}, lambda ${member}: ${convert(member, type.element, foundElement, depth + 1)})`;
  }
  if (type.kind === 'double' && ROUNDED_TWICE.test(foundType)) return `CAST(CAST(${value} AS VARCHAR) AS DOUBLE)`;
  return `CAST(${value} AS ${sqlType(type)})`;
}

/** Whether members of the type are looked at one by one. */
function isChecked(type: ColumnType): boolean {
  if (type.kind === 'array') return isChecked(type.element);
  return type.kind === 'decimal' || (type.kind in WHOLE_NAMES && type.kind !== 'uint256');
}

/** Whether DuckDB's cast to the decimal may round: all but whole numbers, and decimals of no more places. */
function mayBeRounded({ scale }: Extract<ColumnType, { kind: 'decimal' }>, foundType: string): boolean {
  const places = /^DECIMAL\(\d+,\s*(\d+)\)$/.exec(foundType)?.[1];
  return places === undefined ? /^(VARCHAR|DOUBLE|FLOAT)$/.test(foundType) : Number(places) > scale;
}

function scan(files: SourceFiles, ndjsonColumns: string): string {
  const pattern = listOf(files);
  const partitions = `hive_partitioning = ${files.partitioned}`;
  switch (files.format) {
    case 'parquet':
      return `read_parquet(${pattern}, union_by_name = true, ${partitions})`;
    case 'csv':
      return csv(pattern, `header = true, union_by_name = true, ${partitions}`);
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

/** What is no whole number ends the query, in DuckDB's words for a text that is no number: a cast rounds. */
function wholeNumber(value: string, type: ColumnType, foundType: string, wholeName: string): string {
  const fail = (typeName: string) =>
    `error('Could not convert string ''' || CAST(${value} AS VARCHAR) || ''' to ${typeName}')`;
  const number = `CAST(${value} AS ${type.kind === 'uint256' ? 'HUGEINT' : storageType(type)})`;
  // By way of HUGEINT: DuckDB takes 15 µs to read a text as DECIMAL(38, 0), and 0.1 µs this way.
  const cast =
    type.kind === 'uint256'
      ? `CASE WHEN ${number} < 0 THEN ${fail('UINT256')} ELSE CAST(${number} AS DECIMAL(38, 0)) END`
      : number;
  const isWhole = isWholeNumber(value, foundType);
  if (isWhole === undefined) return cast;
  return `CASE WHEN ${value} IS NULL OR ${isWhole} THEN ${cast} ELSE ${fail(wholeName)} END`;
}

/** SQL; undefined where no value of the type has a fraction. */
function isWholeNumber(value: string, foundType: string): string | undefined {
  if (/^(DOUBLE|FLOAT|DECIMAL)/.test(foundType)) return `${value} = trunc(${value})`;
  if (foundType !== 'VARCHAR') return undefined;
  const number = `TRY_CAST(${value} AS DOUBLE)`;
  return `CASE WHEN contains(${value}, 'e') OR contains(${value}, 'E') THEN ${number} = trunc(${number})
    WHEN contains(${value}, '.') THEN regexp_full_match(${value}, '[^.]*\\.0*\\s*') ELSE true END`;
}
