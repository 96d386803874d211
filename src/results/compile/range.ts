/**
 * Compiles a read of one stored part into a statement. Every statement of the read path gives one row:
 * the encoded rows as bytes, how many they are, and their cell bytes.
 *
 * DuckDB makes one large text of a range, and we fetch it as bytes: a page of 25,000 rows then takes 20 ms, not 150.
 */
import { rowBytesOf, totalBytesOf } from '../../duckdb/cell-bytes.ts';
import { csvFieldOf } from '../../duckdb/csv-quoting.ts';
import { FEW_COLUMNS_MAX } from '../../duckdb/few-columns.ts';
import { finiteJsonValueOf, jsonValueOf, mayBeNonFinite } from '../../duckdb/json-value.ts';
import { Parameters } from '../../duckdb/parameters.ts';
import type { Statement } from '../../duckdb/statement.ts';
import { storedColumn } from '../../duckdb/storage-type.ts';
import type { TextFormat } from '../request/format.ts';
import { rowOfMany } from './many-columns.ts';
import { type ProjectedColumn, ROW_SEPARATOR, type RowEncoding } from './row-encoding.ts';

/** Rows `from` (inclusive) to `to` (exclusive) of the part at `path`, counted within the part. */
export interface StoredRange {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

/**
 * `safe` is right for any rows, and the faster one for few. For many rows `fast` takes two thirds of the time. It assumes that
 * floating-point values are finite and that rows come in stored order, and its answer says whether that was so. If it was not, the
 * range has to be read again with `safe`.
 */
export type ReadMode = 'fast' | 'safe';

/** DuckDB works in batches of 2048 rows and keeps the order within one, so one mark in each shows whether the batches came in order. */
const MARK_EVERY = 1024;

/** Reads a range. Its row has a fourth value: whether what the mode assumes was so. */
export function compileRange(encoding: RowEncoding, range: StoredRange, mode: ReadMode): Statement {
  const { columns, format } = encoding;
  const parameters = new Parameters();
  const separator = parameters.add(ROW_SEPARATOR[format]);
  const row = encodedRow(encoding, parameters, mode);
  // Without an ORDER BY of its own an aggregate takes rows as they come, and several threads bring several row groups in any order. One
  // sum over all columns takes less time to plan, one sum for each column less to compute.
  const [order, bytes, holds] =
    mode === 'safe'
      ? [' ORDER BY file_row_number', `sum(${rowBytes(columns)})`, 'true']
      : [
          '',
          totalBytes(columns),
          [cameInOrder(parameters.add(BigInt(range.from))), ...onlyFinite(columns, format)].join(' AND '),
        ];
  const text = [
    `SELECT encode(string_agg(${row}, ${separator}::VARCHAR${order})), count(*), ${bytes}, ${holds}`,
    rowsOfPart(range, parameters),
  ].join(' ');
  return { text, values: parameters.values };
}

/** SQL: true if the rows from `start` on reached the aggregates in order. All aggregates of a statement get rows in the same order. */
export function cameInOrder(start: string): string {
  const marks = `list(file_row_number) FILTER (file_row_number % ${MARK_EVERY} = 0 OR file_row_number = ${start})`;
  return `${marks} = list_sort(${marks})`;
}

/** SQL: true if the fast mode can write every value as JSON. It can write all values as CSV. */
function onlyFinite(columns: readonly ProjectedColumn[], format: TextFormat): readonly string[] {
  if (format === 'csv') return [];
  const floats = columns.filter(({ type }) => mayBeNonFinite(type));
  return floats.map(({ index }) => `count(*) FILTER (NOT isfinite(${storedColumn(index)})) = 0`);
}

/** How many of the range's first rows together have at most `bytesMax` cell bytes; and the cell bytes of the whole range. */
export function compileFit(columns: readonly ProjectedColumn[], range: StoredRange, bytesMax: number): Statement {
  const parameters = new Parameters();
  const running = `sum(${rowBytes(columns)}) OVER (ORDER BY file_row_number)`;
  return {
    text: `SELECT count(*) FILTER (running <= ${parameters.add(BigInt(bytesMax))}), max(running) FROM (SELECT ${running} AS running ${rowsOfPart(range, parameters)})`,
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

/** The FROM and WHERE of a range: only its row groups are read. */
export function rowsOfPart({ path, from, to }: StoredRange, parameters: Parameters): string {
  const [start, end] = [parameters.add(BigInt(from)), parameters.add(BigInt(to))];
  return `FROM ${partAt(path, parameters)} WHERE file_row_number >= ${start} AND file_row_number < ${end}`;
}

/** SQL of one row's text in the format. */
export function encodedRow(encoding: RowEncoding, parameters: Parameters, mode: ReadMode = 'safe'): string {
  if (encoding.columns.length > FEW_COLUMNS_MAX) return rowOfMany(encoding, parameters);
  return encoding.format === 'csv' ? csvRow(encoding, parameters) : jsonRow(encoding, parameters, mode);
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

function jsonRow({ columns, spelling }: RowEncoding, parameters: Parameters, mode: ReadMode): string {
  const jsonOf = mode === 'fast' ? finiteJsonValueOf : jsonValueOf;
  const members = columns.map(
    ({ name, type, index }) =>
      `${parameters.add(name)}::VARCHAR, ${jsonOf(type, storedColumn(index), parameters, spelling === 'textIntegers')}`,
  );
  return `json_object(${members.join(', ')})::VARCHAR`;
}

function csvRow({ columns, spelling }: RowEncoding, parameters: Parameters): string {
  const fields = columns.map(({ type, index }) =>
    csvFieldOf(type, storedColumn(index), parameters, spelling === 'spreadsheet'),
  );
  const [only] = fields;
  // Most readers skip an empty line, so a row of one empty field is written as "".
  if (fields.length === 1 && only !== undefined) return `coalesce(nullif(${only}, ''), '""')`;
  return `concat(${fields.join(`, ',', `)})`;
}
