/**
 * Compiles reads of a view: the rows that a predicate keeps, in the order of sort keys, ties by stored position (contract §2).
 * A first page is answered directly, with a bounded sort; a walk materialises the view once and reads ranges of that.
 */
import { createHash } from 'node:crypto';
import { drawnPositions } from '../../duckdb/drawn-positions.ts';
import { Parameters } from '../../duckdb/parameters.ts';
import { INTO_FILE, parquetOptions } from '../../duckdb/parquet-options.ts';
import { quoteText } from '../../duckdb/quoting.ts';
import type { RowOrder, Statement } from '../../duckdb/statement.ts';
import { storedColumn } from '../../duckdb/storage-type.ts';
import type { View, ViewRows } from '../plan/view.ts';
import { compilePredicate } from './predicate.ts';
import { encodedRow, partAt, partsAt, rowBytes } from './range.ts';
import { type ProjectedColumn, ROW_SEPARATOR, type RowEncoding } from './row-encoding.ts';
import { orderOf, orderOfFiles, POSITION } from './sort.ts';

/** Where a row is stored: in which of the parts, and at which of its rows. */
export interface StoredPosition {
  readonly part: number;
  readonly row: bigint;
}

export interface ViewSlice {
  readonly offset: number;
  readonly rowCountMax: number;
  /** The page ends before the row with which its cell bytes would exceed this, but has at least one row. */
  readonly cellBytesMax: number | undefined;
}

/**
 * Reads rows of a view straight from the parts at `paths`. Gives one row: the encoded rows, how many they are, their cell bytes,
 * and how many rows were found, which is one more than were encoded if others follow.
 * @param order how an unsorted view gets its rows in stored order: run `compileSlice` through `rowOrderOf` to find out
 */
export function compileViewSlice(
  encoding: RowEncoding,
  paths: readonly string[],
  view: View,
  slice: ViewSlice,
  order: RowOrder,
): Statement {
  const parameters = new Parameters();
  const found = compileSelected({ columns: encoding.columns, paths, view, slice }, order, parameters);
  return compileFound(encoding, found, view, slice, parameters);
}

/** What `compileViewSlice` reads if DuckDB keeps the order: its plan is looked at to see whether it does. */
export function compileSlice(
  columns: readonly ProjectedColumn[],
  paths: readonly string[],
  view: View,
  slice: ViewSlice,
): Statement {
  const parameters = new Parameters();
  return { text: compileSelected({ columns, paths, view, slice }, 'kept', parameters), values: parameters.values };
}

/** How many rows a view has: a statement with one row and one value. */
export function compileCount(paths: readonly string[], view: View): Statement {
  const parameters = new Parameters();
  return { text: `SELECT count(*) ${clausesOf(view, paths, parameters).from}`, values: parameters.values };
}

/** Where the rows of a slice of a view are stored, and one row more where others follow: a row for each, in order. */
export function compilePositions(paths: readonly string[], view: View, slice: ViewSlice): Statement {
  const parameters = new Parameters();
  return { text: positionsOf(paths, view, slice, parameters), values: parameters.values };
}

/**
 * As `compileViewSlice`, of rows among which all of the view are: reads only the row groups that they are in.
 * @param positions their parts are places in `paths`
 */
export function compileSliceAmong(
  encoding: RowEncoding,
  paths: readonly string[],
  view: View,
  slice: ViewSlice,
  positions: readonly StoredPosition[],
): Statement {
  const parameters = new Parameters();
  const condition = view.rows.kind === 'all' ? '' : ` AND ${conditionOf(view.rows, parameters)}`;
  const found = rowsAt(neededColumns(encoding.columns, view), paths, positions, parameters, condition);
  const sliced = `SELECT * FROM (${found}) ORDER BY ${orderOf(view.sortKeys)} ${limitOf(slice, parameters)}`;
  return compileFound(encoding, sliced, view, slice, parameters);
}

/** As `compileViewSlice`, once it is known where the rows are stored: reads only the row groups that they are in. */
export function compileSliceAt(
  encoding: RowEncoding,
  paths: readonly string[],
  view: View,
  slice: ViewSlice,
  positions: readonly StoredPosition[],
): Statement {
  const parameters = new Parameters();
  const found = rowsAt(neededColumns(encoding.columns, view), paths, positions, parameters);
  return compileFound(encoding, found, view, slice, parameters);
}

/** A query for the rows at positions, in any order. @param condition what else must be so, after an AND */
function rowsAt(
  needed: readonly string[],
  paths: readonly string[],
  positions: readonly StoredPosition[],
  parameters: Parameters,
  condition = '',
): string {
  const rowsOf = Map.groupBy(positions, ({ part }) => part);
  const found = paths.flatMap((path, part) => {
    const rows = rowsOf.get(part);
    if (rows === undefined) return [];
    const file = partAt(path, parameters);
    const numbers = rows.map(({ row }) => parameters.add(row)).join(', ');
    return `SELECT ${[...needed, `${part} AS file_index`, 'file_row_number'].join(', ')} FROM ${file} WHERE file_row_number IN (${numbers})${condition}`;
  });
  return found.join(' UNION ALL ');
}

/** Which rows, and which of their columns. */
interface SelectedRows {
  readonly columns: readonly ProjectedColumn[];
  readonly paths: readonly string[];
  readonly view: View;
  readonly slice: ViewSlice;
}

/** A query for the slice's rows, in any order, and for one row more if others follow. */
function compileSelected(
  { columns, paths, view, slice }: SelectedRows,
  order: RowOrder,
  parameters: Parameters,
): string {
  const selected = [...neededColumns(columns, view), ...POSITION].join(', ');
  if (view.sortKeys.length === 0 && order === 'asked') {
    // Only positions are sorted, not whole rows; and only the row groups are read that those lie in.
    const positions = positionsOf(paths, view, slice, parameters);
    return `SELECT ${selected} FROM ${partsAt(paths, parameters)} SEMI JOIN (${positions}) USING (${POSITION.join(', ')})`;
  }
  const { from, order: keys, sorted } = clausesOf(view, paths, parameters);
  return `SELECT ${selected} ${from}${sorted ? ` ORDER BY ${keys}` : ''} ${limitOf(slice, parameters)}`;
}

function positionsOf(paths: readonly string[], view: View, slice: ViewSlice, parameters: Parameters): string {
  const { from, order } = clausesOf(view, paths, parameters);
  return `SELECT ${POSITION.join(', ')} ${from} ORDER BY ${order} ${limitOf(slice, parameters)}`;
}

/** One row more than the slice has, which says that others follow. */
function limitOf({ rowCountMax, offset }: ViewSlice, parameters: Parameters): string {
  return `LIMIT ${parameters.add(BigInt(rowCountMax))} + 1 OFFSET ${parameters.add(BigInt(offset))}`;
}

/** Encodes what the query `found` finds, in the order of the view, as far as it fits. */
function compileFound(
  encoding: RowEncoding,
  found: string,
  view: View,
  { rowCountMax, cellBytesMax }: ViewSlice,
  parameters: Parameters,
): Statement {
  const { columns, format } = encoding;
  const fits = [`position <= ${parameters.add(BigInt(rowCountMax))}`];
  if (cellBytesMax !== undefined) {
    fits.push(`(position = 1 OR sum(row_bytes) OVER (ORDER BY position) <= ${parameters.add(BigInt(cellBytesMax))})`);
  }
  const separator = parameters.add(ROW_SEPARATOR[format]);
  const text = [
    `WITH found AS (${found}),`,
    `numbered AS (SELECT *, row_number() OVER (ORDER BY ${orderOf(view.sortKeys)}) AS position, ${rowBytes(columns)} AS row_bytes FROM found),`,
    `fitted AS (SELECT *, ${fits.join(' AND ')} AS fits FROM numbered)`,
    `SELECT encode(string_agg(${encodedRow(encoding, parameters)}, ${separator}::VARCHAR ORDER BY position) FILTER (fits)),`,
    'count(*) FILTER (fits), coalesce(sum(row_bytes) FILTER (fits), 0), count(*) FROM fitted',
  ].join(' ');
  return { text, values: parameters.values };
}

/** A file that is written of all columns. */
export interface Destination {
  readonly columns: readonly ProjectedColumn[];
  /** `own`: the names of a result that has these columns alone. Else they keep those that they have in the parts. */
  readonly names?: 'own' | undefined;
  readonly path: string;
  readonly rowGroupRows: number;
}

/** Writes the whole view to one file. Answers with one row: how many rows were written. */
export function compileMaterialization(
  paths: readonly string[],
  view: View,
  destination: Destination,
  rowOrder: RowOrder,
): Statement {
  const parameters = new Parameters();
  const { from, order, sorted } = clausesOf(view, paths, parameters);
  const orderBy = sorted || rowOrder === 'asked' ? ` ORDER BY ${order}` : '';
  return { text: copyOf(`${from}${orderBy}`, destination), values: parameters.values };
}

/** lz4 is faster than zstd and 1.7 times larger: right for files that are derived and thrown away. */
function copyOf(rows: string, { columns, names, path, rowGroupRows }: Destination): string {
  const options = parquetOptions('lz4_raw', rowGroupRows, columns.length);
  const selected = names === 'own' ? renamedColumns(columns) : storedColumns(columns);
  return `COPY (SELECT ${selected} ${rows}) TO ${quoteText(path)} (${options}, ${INTO_FILE})`;
}

function storedColumns(columns: readonly ProjectedColumn[]): string {
  return columns.map(({ index }) => storedColumn(index)).join(', ');
}

/** DuckDB looks for a name in conditions among the columns of the parts first, and only then among these. */
function renamedColumns(columns: readonly ProjectedColumn[]): string {
  return columns.map(({ index }, place) => `${storedColumn(index)} AS ${storedColumn(place)}`).join(', ');
}

/** What a view is known by: two requests that mean the same view, in whatever words, have the same. */
export function viewIdentity(executionId: string, view: View): string {
  const parameters = new Parameters();
  const { from, order } = clausesOf(view, [executionId], parameters);
  const values = parameters.values.map((value) => `${typeof value} ${String(value)}`);
  return createHash('sha256')
    .update(JSON.stringify([from, order, values]))
    .digest('hex')
    .slice(0, 32);
}

interface ViewClauses {
  readonly from: string;
  /** The terms of an ORDER BY. */
  readonly order: string;
  /** False where stored order is the view's: then it costs less where the plan keeps it, as without an ORDER BY a LIMIT ends the reading. */
  readonly sorted: boolean;
}

function clausesOf(view: View, paths: readonly string[], parameters: Parameters): ViewClauses {
  const where = view.rows.kind === 'all' ? '' : ` WHERE ${conditionOf(view.rows, parameters)}`;
  return {
    from: `FROM ${partsAt(paths, parameters)}${where}`,
    order: orderOfFiles(view.sortKeys, paths.length),
    sorted: view.sortKeys.length > 0,
  };
}

function conditionOf(rows: Exclude<ViewRows, { kind: 'all' }>, parameters: Parameters): string {
  switch (rows.kind) {
    case 'matching':
      return compilePredicate(rows.predicate, parameters);
    case 'drawn': {
      const firstRows = `${parameters.add(rows.firstRows.map(BigInt))}::BIGINT[]`;
      return `(${firstRows})[file_index::BIGINT + 1] + file_row_number IN (${drawnPositions(rows.draw, parameters)})`;
    }
    default:
      return rows satisfies never;
  }
}

/** The answer's columns and those that give its order, each once. */
function neededColumns(columns: readonly ProjectedColumn[], view: View): readonly string[] {
  const indexes = [...columns.map(({ index }) => index), ...view.sortKeys.map(({ columnIndex }) => columnIndex)];
  return [...new Set(indexes)].map(storedColumn);
}
