/**
 * Compiles what a row file is made of: the encoded rows of a range of a part, as `range.ts` encodes them, with the bytes of each row's
 * text and the cell bytes of each row and of some of its columns.
 */
import type { Column } from '../../domain/result-set.ts';
import { cellBytesOf } from '../../duckdb/cell-bytes.ts';
import { mayBeNonFinite } from '../../duckdb/json-value.ts';
import { Parameters } from '../../duckdb/parameters.ts';
import type { Statement } from '../../duckdb/statement.ts';
import { storedColumn } from '../../duckdb/storage-type.ts';
import { cameInOrder, encodedRow, type ReadMode, rowBytes, rowsOfPart, type StoredRange } from './range.ts';
import { projectAll, ROW_SEPARATOR } from './row-encoding.ts';

/**
 * Answers with one row: the encoded rows as bytes, with a comma after each; their number; whether what the mode assumes was so (`ReadMode`); and
 * lists with a number for each row: the bytes of its text, its cell bytes, the cell bytes of each sized column.
 * @param columns all of the part's
 * @param sized indexes of columns
 */
export function compileRowTexts(
  columns: readonly Column[],
  sized: readonly number[],
  range: StoredRange,
  mode: ReadMode,
): Statement {
  const parameters = new Parameters();
  const projected = projectAll(columns);
  const row = encodedRow({ columns: projected, format: 'json' }, parameters, mode);
  const sizes = sized.flatMap((index) => {
    const type = columns[index]?.type;
    return type === undefined ? [] : [`${cellBytesOf(type, storedColumn(index))} AS s${index}`];
  });
  const floats = columns.flatMap(({ type }, index) =>
    mayBeNonFinite(type) ? [`isfinite(${storedColumn(index)})`] : [],
  );
  const rows = [
    `SELECT ${row} AS j, ${rowBytes(projected)} AS b, ${[...floats, 'true'].join(' AND ')} AS f, file_row_number`,
    ...sizes,
  ].join(', ');
  const separator = `${parameters.add(ROW_SEPARATOR.json)}::VARCHAR`;
  const order = mode === 'safe' ? ' ORDER BY file_row_number' : '';
  const holds =
    mode === 'safe' ? 'true' : `${cameInOrder(parameters.add(BigInt(range.from)))} AND count(*) FILTER (NOT f) = 0`;
  // Wider than 4 GB no row can be, nor a cell: the cast says so.
  const listed = ['strlen(j)', 'b', ...sized.map((index) => `s${index}`)].map((e) => `list(${e}::UINTEGER${order})`);
  const text = [
    `SELECT encode(string_agg(j, ${separator}${order}) || ${separator}), count(*), ${holds}, ${listed.join(', ')}`,
    `FROM (${rows} ${rowsOfPart(range, parameters)})`,
  ].join(' ');
  return { text, values: parameters.values };
}

/** Answers with one row: the bytes that each column's name takes in an encoded row, with its quotes. */
export function compileNameBytes(columns: readonly Column[]): Statement {
  const parameters = new Parameters();
  const names = `${parameters.add(columns.map(({ name }) => name))}::VARCHAR[]`;
  const text = `SELECT list_transform(${names}, lambda name: strlen(to_json(name)::VARCHAR)::UINTEGER)`;
  return { text, values: parameters.values };
}
