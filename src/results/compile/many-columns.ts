/**
 * SQL of one row's text if there are many columns. Columns of one type are gathered in a list, and one expression encodes all members of
 * the list; then the texts are put in the order of the columns. With an expression for each column, planning alone takes two thirds of
 * the time of a page of 1,000 columns, and a page of 5,000 as CSV takes minutes.
 */
import { formatColumnType } from '../../domain/column-type.ts';
import { csvFieldOf } from '../../duckdb/csv-quoting.ts';
import { jsonValueOf } from '../../duckdb/json-value.ts';
import type { Parameters } from '../../duckdb/parameters.ts';
import { storedColumn } from '../../duckdb/storage-type.ts';
import type { ProjectedColumn, RowEncoding } from './row-encoding.ts';

export function rowOfMany(encoding: RowEncoding, parameters: Parameters): string {
  const { columns, format } = encoding;
  const groups = [...Map.groupBy(columns.keys(), (position) => typeOf(columns, position)).values()];
  const cells = groups.map((positions) => encodedList(encoding, positions, parameters));
  const order = groups.flat();
  // The position of each column's text when the lists are joined.
  const places = new Map(order.map((position, place) => [position, place + 1]));
  const placeOf = (position: number) => places.get(position) ?? 0;
  if (format === 'csv') {
    const inOrder = [...columns.keys()].map(placeOf);
    return `array_to_string(list_select(list_concat(${cells.join(', ')}), [${inOrder.join(', ')}]), ',')`;
  }
  const names = `${parameters.add(columns.map(({ name }) => name))}::VARCHAR[]`;
  const labels = `list_transform(${names}, lambda name, place: CASE WHEN place = 1 THEN '{' ELSE ',' END || to_json(name)::VARCHAR || ':')`;
  const inOrder = [...columns.keys()].flatMap((position) => [position + 1, columns.length + placeOf(position)]);
  const texts = `list_select(list_concat(${[labels, ...cells].join(', ')}), [${inOrder.join(', ')}])`;
  return `array_to_string(${texts}, '') || '}'`;
}

function typeOf(columns: readonly ProjectedColumn[], position: number): string {
  const column = columns[position];
  return column === undefined ? '' : formatColumnType(column.type);
}

/** SQL of a list of the texts of these columns, which have one type. None is null: joining would leave it out. */
function encodedList(
  { columns, format, spelling }: RowEncoding,
  positions: readonly number[],
  parameters: Parameters,
): string {
  const members = positions.flatMap((position) => columns[position] ?? []);
  const [first] = members;
  if (first === undefined) return '[]::VARCHAR[]';
  const { type } = first;
  const text =
    format === 'csv'
      ? `coalesce(${csvFieldOf(type, 'cell', parameters, spelling === 'spreadsheet')}, '')`
      : `coalesce(to_json(${jsonValueOf(type, 'cell', parameters, spelling === 'textIntegers')})::VARCHAR, 'null')`;
  return `list_transform([${members.map(({ index }) => storedColumn(index)).join(', ')}], lambda cell: ${text})`;
}
