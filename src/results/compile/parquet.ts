/**
 * Compiles the writing of rows to one Parquet file, with the real names and types of the columns.
 *
 * All parts are read by one `read_parquet` over their list, which keeps the order of files and rows (see `row-order` in
 * duckdb/). A UNION ALL of the parts does not: DuckDB 1.5 wrote the second before the first, with one thread and
 * `preserve_insertion_order`.
 */
import { descriptionOf, type QueryWords } from '../../domain/column-descriptions.ts';
import { formatColumnType } from '../../domain/column-type.ts';
import { totalBytesOf } from '../../duckdb/cell-bytes.ts';
import { Parameters } from '../../duckdb/parameters.ts';
import { INTO_FILE, parquetOptions } from '../../duckdb/parquet-options.ts';
import { parquetValueOf, TYPES_KEY } from '../../duckdb/parquet-value.ts';
import { quoteName, quoteText } from '../../duckdb/quoting.ts';
import type { RowOrder, Statement } from '../../duckdb/statement.ts';
import { storageType, storedColumn } from '../../duckdb/storage-type.ts';
import { partsAt } from './range.ts';
import type { ProjectedColumn } from './row-encoding.ts';

/** Rows of consecutive parts, in their order. */
export interface PartRows {
  /** The parts that have any of the rows. */
  readonly paths: readonly string[];
  /** Counted within the first part. */
  readonly from: number;
  /** Exclusive, counted within the last part. */
  readonly to: number;
}

/** What is written of the rows. */
export interface ExportContent {
  readonly columns: readonly ProjectedColumn[];
  readonly words?: QueryWords | undefined;
}

export interface ExportDestination {
  readonly path: string;
  readonly rowGroupRows: number;
}

/** The file's key-value metadata on its query: absent where there is nothing to say. The names of the keys are documented. */
function wordsToTell(columns: readonly ProjectedColumn[], words: QueryWords = {}): Readonly<Record<string, string>> {
  const described = columns.flatMap(({ name }) => {
    const text = descriptionOf(words.columnDescriptions, name);
    return text === undefined ? [] : [[name, text] as const];
  });
  return {
    ...(words.name !== undefined && { 'query-results-service.name': words.name }),
    ...(words.description !== undefined && { 'query-results-service.description': words.description }),
    ...(described.length > 0 && {
      'query-results-service.column_descriptions': JSON.stringify(Object.fromEntries(described)),
    }),
  };
}

/** Writes the rows to the file. Answers with one row: how many were written. */
export function compileExport(
  { columns, words }: ExportContent,
  rows: PartRows,
  { path, rowGroupRows }: ExportDestination,
  order: RowOrder,
): Statement {
  const parameters = new Parameters();
  const values = columns.map(
    ({ name, type, index }) => `${parquetValueOf(type, storedColumn(index))} AS ${quoteName(name)}`,
  );
  const types = JSON.stringify(columns.map(({ type }) => formatColumnType(type)));
  const told = [`${quoteText(TYPES_KEY)}: ${quoteText(types)}`];
  for (const [key, text] of Object.entries(wordsToTell(columns, words))) {
    told.push(`${quoteText(key)}: ${parameters.add(text)}`);
  }
  const metadata = `KV_METADATA {${told.join(', ')}}`;
  const options = `${parquetOptions('zstd', rowGroupRows, columns.length)}, ${INTO_FILE}, ${metadata}`;
  const orderBy = order === 'asked' && rows.paths.length > 0 ? ' ORDER BY file_index, file_row_number' : '';
  const text = `COPY (SELECT ${values.join(', ')} ${sourceOf(columns, rows, parameters)}${orderBy}) TO ${quoteText(path)} (${options})`;
  return { text, values: parameters.values };
}

/** Answers with one row: the cell bytes of the rows. */
export function compileCellBytes(columns: readonly ProjectedColumn[], rows: PartRows): Statement {
  const parameters = new Parameters();
  const bytes = totalBytesOf(
    columns.map(({ type }) => type),
    (position) => storedColumn(columns[position]?.index ?? position),
  );
  return { text: `SELECT ${bytes} ${sourceOf(columns, rows, parameters)}`, values: parameters.values };
}

function sourceOf(columns: readonly ProjectedColumn[], { paths, from, to }: PartRows, parameters: Parameters): string {
  if (paths.length === 0) return emptySource(columns);
  const files = partsAt(paths, parameters);
  const first = `file_row_number >= ${parameters.add(BigInt(from))}`;
  const last = `file_row_number < ${parameters.add(BigInt(to))}`;
  // For one file, this condition reads only the row groups that have the rows. The general condition would read the whole file.
  if (paths.length === 1) return `FROM ${files} WHERE ${first} AND ${last}`;
  return `FROM ${files} WHERE (file_index > 0 OR ${first}) AND (file_index < ${paths.length - 1} OR ${last})`;
}

/** No rows, of the same types: a file without rows still has its columns. */
function emptySource(columns: readonly ProjectedColumn[]): string {
  const nulls = columns.map(({ type, index }) => `NULL::${storageType(type)} AS ${storedColumn(index)}`);
  return `FROM (SELECT ${nulls.join(', ')} LIMIT 0)`;
}
