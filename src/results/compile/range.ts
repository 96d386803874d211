/**
 * Compiles a read of one stored part into a statement. Every statement of the read path answers with one row:
 * the encoded rows as bytes, how many they are, and their cell bytes.
 *
 * One large text per range, made inside DuckDB and fetched as bytes, is what makes a page of 25,000 rows cost 20 ms instead
 * of 150.
 */
import type { Column } from '../../domain/result-set.ts';
import { rowBytesOf, totalBytesOf } from '../../duckdb/cell-bytes.ts';
import { csvFieldOf } from '../../duckdb/csv-field.ts';
import type { Statement } from '../../duckdb/duckdb.ts';
import { finiteJsonValueOf, jsonValueOf, mayBeNonFinite } from '../../duckdb/json-value.ts';
import { Parameters } from '../../duckdb/parameters.ts';
import { storedColumn } from '../../duckdb/storage-type.ts';
import type { TextFormat } from '../request/format.ts';

/** What stands between two rows, and so between two chunks. */
export const ROW_SEPARATOR: Readonly<Record<TextFormat, string>> = { json: ',', ndjson: '\n', csv: '\n' };

/** A column of the answer and where it is stored. */
export interface ProjectedColumn extends Column {
  /** Its index in the stored result set. */
  readonly index: number;
}

/**
 * `plain` is right whatever the rows are, and the one to take for few. For many, `quick` takes two thirds of its time: it takes
 * floating-point values for finite and the rows for coming in stored order, and its answer says whether they did; where not, it is
 * to be read again, plain.
 */
export type Reading = 'quick' | 'plain';

/** A batch of DuckDB's has 2048 rows and keeps their order, so one mark in each tells whether the batches came in order. */
const MARK_EVERY = 1024;

/**
 * Rows `from` (inclusive) to `to` (exclusive) of the part at `path`, counted within the part. Answers with a fourth value:
 * whether what the reading takes for granted was so.
 */
export function compileRange(
  columns: readonly ProjectedColumn[],
  format: TextFormat,
  path: string,
  from: number,
  to: number,
  reading: Reading,
): Statement {
  const parameters = new Parameters();
  const separator = parameters.add(ROW_SEPARATOR[format]);
  const row = encodedRow(columns, format, parameters, reading);
  // Without an order of its own the aggregate takes rows as they come: of several row groups, with several threads, in any. Bytes
  // in one sum take less planning, in one for each column less counting.
  const [order, bytes, holds] =
    reading === 'plain'
      ? [' ORDER BY file_row_number', `sum(${rowBytes(columns)})`, 'true']
      : [
          '',
          totalBytes(columns),
          [cameInOrder(parameters.add(BigInt(from))), ...onlyFinite(columns, format)].join(' AND '),
        ];
  const text = [
    `SELECT encode(string_agg(${row}, ${separator}::VARCHAR${order})), count(*), ${bytes}, ${holds}`,
    rowsOfPart(path, from, to, parameters),
  ].join(' ');
  return { text, values: parameters.values };
}

/** SQL of whether the rows from `start` on reached the aggregates of this statement, which all take them alike, in order. */
function cameInOrder(start: string): string {
  const marks = `list(file_row_number) FILTER (file_row_number % ${MARK_EVERY} = 0 OR file_row_number = ${start})`;
  return `${marks} = list_sort(${marks})`;
}

/** SQL of whether no value is one that only a plain reading writes as JSON. CSV has no such. */
function onlyFinite(columns: readonly ProjectedColumn[], format: TextFormat): readonly string[] {
  if (format === 'csv') return [];
  const floats = columns.filter(({ type }) => mayBeNonFinite(type));
  return floats.map(({ index }) => `count(*) FILTER (NOT isfinite(${storedColumn(index)})) = 0`);
}

/**
 * How many rows from `from` on, and before `to`, together have at most `bytesMax` cell bytes; and the cell bytes of all of
 * them up to `to`.
 */
export function compileFit(
  columns: readonly ProjectedColumn[],
  path: string,
  from: number,
  to: number,
  bytesMax: number,
): Statement {
  const parameters = new Parameters();
  const running = `sum(${rowBytes(columns)}) OVER (ORDER BY file_row_number)`;
  return {
    text: `SELECT count(*) FILTER (running <= ${parameters.add(BigInt(bytesMax))}), max(running) FROM (SELECT ${running} AS running ${rowsOfPart(path, from, to, parameters)})`,
    values: parameters.values,
  };
}

/** SQL of the file at `path`, its rows with their numbers. */
export function partAt(path: string, parameters: Parameters): string {
  return `read_parquet(${parameters.add(path)}, file_row_number = true)`;
}

/** SQL of the files at `paths`, one after another, their rows with their numbers. */
export function partsAt(paths: readonly string[], parameters: Parameters): string {
  return `read_parquet(${parameters.add(paths)}::VARCHAR[], file_row_number = true)`;
}

/** SQL of where rows `from` (inclusive) to `to` (exclusive) of the file at `path` come from: only their row groups are read. */
export function rowsOfPart(path: string, from: number, to: number, parameters: Parameters): string {
  const [start, end] = [parameters.add(BigInt(from)), parameters.add(BigInt(to))];
  return `FROM ${partAt(path, parameters)} WHERE file_row_number >= ${start} AND file_row_number < ${end}`;
}

/** SQL of one row's text in the format. */
export function encodedRow(
  columns: readonly ProjectedColumn[],
  format: TextFormat,
  parameters: Parameters,
  reading: Reading = 'plain',
): string {
  return format === 'csv' ? csvRow(columns, parameters) : jsonRow(columns, parameters, reading);
}

/** SQL of one row's cell bytes. */
export function rowBytes(columns: readonly ProjectedColumn[]): string {
  return rowBytesOf(
    columns.map(({ type }) => type),
    (position) => storedColumn(columns[position]?.index ?? position),
  );
}

function totalBytes(columns: readonly ProjectedColumn[]): string {
  return totalBytesOf(
    columns.map(({ type }) => type),
    (position) => storedColumn(columns[position]?.index ?? position),
  );
}

function jsonRow(columns: readonly ProjectedColumn[], parameters: Parameters, reading: Reading): string {
  const jsonOf = reading === 'quick' ? finiteJsonValueOf : jsonValueOf;
  const members = columns.map(
    ({ name, type, index }) => `${parameters.add(name)}::VARCHAR, ${jsonOf(type, storedColumn(index), parameters)}`,
  );
  return `json_object(${members.join(', ')})::VARCHAR`;
}

function csvRow(columns: readonly ProjectedColumn[], parameters: Parameters): string {
  const fields = columns.map(({ type, index }) => csvFieldOf(type, storedColumn(index), parameters));
  const [only] = fields;
  // A line with nothing on it would be skipped by most readers, so a row of one empty field is written "".
  if (fields.length === 1 && only !== undefined) return `coalesce(nullif(${only}, ''), '""')`;
  return `concat(${fields.join(`, ',', `)})`;
}
