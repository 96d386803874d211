/**
 * Writes a view as parts, as stored ones but smaller. DuckDB sorts with several threads only into one file, but pages of one
 * large file with many row groups are slow. So the view is written as one file, which is then cut into parts between its row groups. For
 * 10 million rows the writing takes 11 s with two threads; writing the parts directly takes twice as long, since then only one thread
 * writes them in order.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { datapointsOf } from '../../../domain/datapoints.ts';
import { type Part, type ResultSet, ROW_GROUP_ROWS, rowGroupRowsFor, widestRowOf } from '../../../domain/result-set.ts';
import { sumOf } from '../../../domain/sum-of.ts';
import { rowBytesOf } from '../../../duckdb/cell-bytes.ts';
import type { DuckDb } from '../../../duckdb/duckdb.ts';
import { inStoredOrder } from '../../../duckdb/row-order.ts';
import type { RowOrder } from '../../../duckdb/statement.ts';
import { storedColumn } from '../../../duckdb/storage-type.ts';
import { requireWritten, type WrittenFile } from '../../../files/file-state.ts';
import { MadeFile } from '../../../files/made-file.ts';
import { type ProjectedColumn, projectAll } from '../../compile/row-encoding.ts';
import { compileMaterialization } from '../../compile/view.ts';
import { readIntact } from '../../limits/open-all.ts';
import type { View } from '../../plan/view.ts';
import { type CutFile, cutRowGroups } from './cut-row-groups.ts';

/** While it writes, each thread holds a row group in memory. */
export const ROW_GROUP_BYTES_AIM = 32 * 1024 * 1024;

export interface MaterializedView {
  /** The keys of its parts are absolute paths. */
  readonly resultSet: ResultSet;
  /** Those of its parts, in their order. */
  readonly files: readonly WrittenFile[];
  /** Of the difference of two results: how many rows of each change it has. */
  readonly counts?: Readonly<Record<string, number>>;
}

/** What a view is made from. */
export interface ViewSource {
  readonly view: View;
  readonly resultSet: ResultSet;
  /** Paths of the result set's parts. */
  readonly paths: readonly string[];
  /** Those that the view has; all when left out. */
  readonly columns?: readonly ProjectedColumn[];
  /** Its parts are those of a result that has these columns alone, in this order. */
  readonly isResult?: true;
}

/** Where a view is written. */
export interface ViewDestination {
  /** Absolute path of an empty folder. */
  readonly directory: string;
  /** The most rows of a part of the view, unless a single row group has more. */
  readonly partRows: number;
}

export async function materializeView(
  duckDb: DuckDb,
  { view, resultSet: source, paths, columns = projectAll(source.columns), isResult }: ViewSource,
  destination: ViewDestination,
  signal: AbortSignal,
): Promise<MaterializedView> {
  const rowGroupRows = rowGroupRowsFor(source.parts, ROW_GROUP_ROWS, ROW_GROUP_BYTES_AIM);
  const write = async (path: string) => {
    const materialization = (order: RowOrder) =>
      compileMaterialization(paths, view, { columns, names: isResult && 'own', path, rowGroupRows }, order);
    const [written] = await duckDb.query(await inStoredOrder(duckDb, materialization, signal), signal);
    return Number(written?.[0]);
  };
  const isWhole = view.rows.kind === 'all' && columns.length === source.columns.length;
  const measure = isWhole ? measuredAs(source) : undefined;
  const written = isResult ? projectAll(columns.map(({ name, type }) => ({ name, type }))) : columns;
  const { files, ...made } = await writeViewParts(duckDb, { columns: written, write, measure }, destination, signal);
  return { resultSet: { ...source, ...made, ...(isResult && { columns: written }) }, files };
}

/** Rows that DuckDB writes to one file, to be cut into parts. */
export interface WholeFile {
  readonly columns: readonly ProjectedColumn[];
  /** @param path of an empty file @returns how many rows were written */
  write(path: string): Promise<number>;
  /** How large its rows are; where it is not known they are read. */
  readonly measure?: Measure | undefined;
}

/** How large some rows are, as far as it is known without reading them. */
interface Measure {
  readonly rowCount: number;
  readonly cellBytes: number;
  /** No row is wider. */
  readonly rowBytesMax: number;
}

/**
 * All rows of a result in another order are as large as the result. What one part of them has is then an estimate, on which depends only
 * how much is read at once; to read them for it takes a tenth of what sorting takes. Where rows are so wide that a page may have to end
 * early, it pays to know the widest row of each part, and they are read.
 */
function measuredAs({ columns, parts, rowCount, cellBytes }: ResultSet): Measure | undefined {
  const rowBytesMax = widestRowOf(parts);
  return datapointsOf(1, columns.length, rowBytesMax) > columns.length
    ? undefined
    : { rowCount, cellBytes, rowBytesMax };
}

/**
 * Has the file written, and cuts it into parts where it has more rows than one may have.
 * @throws MadeIsGone where somebody has removed a file, or put another in its place, before it was done
 */
export async function writeViewParts(
  duckDb: DuckDb,
  { columns, write, measure }: WholeFile,
  { directory, partRows }: ViewDestination,
  signal: AbortSignal,
): Promise<Pick<ResultSet, 'rowCount' | 'cellBytes' | 'parts'> & Pick<MaterializedView, 'files'>> {
  await using whole = await MadeFile.create(join(directory, 'whole.parquet'));
  const { path } = whole;
  const rowCount = await whole.write(() => write(path));
  const cut =
    rowCount <= partRows
      ? [{ rowCount, ...(await whole.written()) }]
      : await cutRowGroups(whole.handle, partRows, (file) => join(directory, `part-${file}.parquet`), signal);
  if (rowCount > partRows) await rm(path, { force: true });
  const parts: Part[] = [];
  let firstRow = 0;
  const files = cut.filter((file) => file.rowCount > 0);
  for (const file of files) {
    const sizes = measure === undefined ? await measured(duckDb, columns, file, signal) : shareOf(measure, file);
    if (sizes.rowCount !== file.rowCount) throw new Error(`${sizes.rowCount} rows were cut where ${file.rowCount} are`);
    parts.push({ key: file.path, firstRow, ...sizes, objectBytes: file.bytes, sha256: '' });
    firstRow += file.rowCount;
  }
  if (firstRow !== rowCount) throw new Error(`a view of ${rowCount} rows was cut into parts of ${firstRow}`);
  const cellBytes = measure?.cellBytes ?? sumOf(parts, 'cellBytes');
  return { rowCount, cellBytes, parts, files };
}

function shareOf(measure: Measure, { rowCount }: Pick<Part, 'rowCount'>): Measure {
  return { ...measure, rowCount, cellBytes: Math.round((measure.cellBytes * rowCount) / measure.rowCount) };
}

/** Runs what reads the files of a view that is being made. @throws MadeIsGone where one is not what was written; else what `read` throws */
export async function readWritten<T>(files: readonly WrittenFile[], read: () => Promise<T>): Promise<T> {
  return await readIntact(
    files.map((file) => ({ requireIntact: () => requireWritten(file) })),
    read,
  );
}

/** Reads the rows of a file that has been written. */
async function measured(
  duckDb: DuckDb,
  columns: readonly ProjectedColumn[],
  file: CutFile,
  signal: AbortSignal,
): Promise<Measure> {
  const storedAs = (place: number) => storedColumn(columns[place]?.index ?? place);
  const rowBytes = rowBytesOf(
    columns.map(({ type }) => type),
    storedAs,
  );
  const text = `SELECT count(*), coalesce(sum(b), 0), coalesce(max(b), 0) FROM (SELECT ${rowBytes} AS b FROM read_parquet($1))`;
  const [row] = await readWritten([file], () => duckDb.query({ text, values: [file.path] }, signal));
  const [rowCount, cellBytes, rowBytesMax] = (row ?? []).map(Number) as [number, number, number];
  return { rowCount, cellBytes, rowBytesMax };
}
