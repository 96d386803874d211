/**
 * The SQL that reads one source table, with exactly the columns that were declared, as the types that were declared. CSV
 * and NDJSON are read as text first: guessed types would turn the 22 digits of a share count into a double.
 */
import { quoteName, quoteText } from '../../duckdb/quoting.ts';
import { storageType } from '../../duckdb/storage-type.ts';
import { EngineError, type SourceColumn } from '../engine.ts';
import type { SourceFiles } from './source-files.ts';

export interface FoundColumn {
  readonly name: string;
  /** As DuckDB writes it. */
  readonly type: string;
}

/** A statement that answers with the name and the type of each column that the files have. */
export function describeSource(files: SourceFiles): string {
  return `DESCRIBE FROM ${scan(files, '')}`;
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
  if (declared === undefined) return viewOfAll(files, found);
  const known = new Map(found.map((column) => [column.name.toLowerCase(), column]));
  const missing = declared.filter((column) => !known.has(column.name.toLowerCase()));
  if (missing.length > 0) {
    throw new EngineError(
      'wrong_source',
      `source table ${name} has no column ${missing.map((c) => c.name).join(', ')}: found ${found.map((c) => c.name).join(', ')}`,
    );
  }
  const columns = declared.map(
    (column) => `${convert(column, known.get(column.name.toLowerCase())?.type ?? '')} AS ${quoteName(column.name)}`,
  );
  // As the file has the names: DuckDB finds keys of JSON in their own case alone.
  const types = declared.map(
    ({ name: said, type }) => [known.get(said.toLowerCase())?.name ?? said, storageType(type)] as const,
  );
  return `SELECT ${columns.join(', ')} FROM ${scan(files, ndjsonColumns(types))}`;
}

/** In the name of the one column there is: DuckDB found no way to divide all lines alike. */
const SEPARATOR = /[,;|\t]/;

function viewOfAll(files: SourceFiles, found: readonly FoundColumn[]): string {
  return `FROM ${scan(files, ndjsonColumns(found.map((column) => [column.name, 'VARCHAR'])))}`;
}

function ndjsonColumns(types: readonly (readonly [name: string, type: string])[]): string {
  return `, columns = {${types.map(([name, type]) => `${quoteText(name)}: ${quoteText(type)}`).join(', ')}}`;
}

/** DuckDB's types of numbers that it casts to a double with two roundings; their text it reads as the nearest double. */
const ROUNDED_TWICE = /^(DECIMAL|U?HUGEINT)/;

function convert({ name, type }: SourceColumn, foundType: string): string {
  // By way of HUGEINT: DuckDB takes 15 µs to read a text as DECIMAL(38, 0), and 0.1 µs this way.
  if (type.kind === 'uint256') return `CAST(CAST(${quoteName(name)} AS HUGEINT) AS DECIMAL(38, 0))`;
  if (type.kind === 'double' && ROUNDED_TWICE.test(foundType)) {
    return `CAST(CAST(${quoteName(name)} AS VARCHAR) AS DOUBLE)`;
  }
  return `CAST(${quoteName(name)} AS ${storageType(type)})`;
}

function scan(files: SourceFiles, ndjsonColumns: string): string {
  const pattern = `[${files.patterns.map(quoteText).join(', ')}]`;
  const partitions = `hive_partitioning = ${files.partitioned}`;
  switch (files.format) {
    case 'parquet':
      return `read_parquet(${pattern}, union_by_name = true, ${partitions})`;
    case 'csv':
      // Left to itself, DuckDB skips the lines at the top that do not go with the rest, and those that begin with #, and takes other characters for quotes.
      return `read_csv(${pattern}, header = true, all_varchar = true, union_by_name = true, skip = 0, comment = '', quote = '"', escape = '"', ${partitions})`;
    case 'ndjson':
      return `read_json(${pattern}, format = 'newline_delimited', union_by_name = true, ${partitions}${ndjsonColumns})`;
    default:
      return files.format satisfies never;
  }
}
