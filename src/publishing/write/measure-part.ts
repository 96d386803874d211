/** What the manifest says of a part that has been written: rows, bytes, checksum, hashes of its blocks, Bloom filters. */
import { stat } from 'node:fs/promises';
import type { ColumnType } from '../../domain/column-type.ts';
import type { Part } from '../../domain/result-set.ts';
import { fixedWidthOf, rowBytesOf } from '../../duckdb/cell-bytes.ts';
import { type DuckDb, isOutOfMemory, type Row } from '../../duckdb/duckdb.ts';
import { escapeGlob } from '../../duckdb/escape-glob.ts';
import { storedColumn } from '../../duckdb/storage-type.ts';
import { checksumWithBlocks } from '../../files/block-checksums.ts';
import { bloomColumns, bloomHash, type StagedBloomFilters, writeBloomFilters } from './bloom-filters.ts';
import { measureBlocks } from './part-blocks.ts';

/** A part on its way: where it is staged, and all that the manifest says of it but its key. */
export interface StagedPart extends Omit<Part, 'key' | 'bloomFilters'> {
  readonly path: string;
  readonly bloomFilters?: StagedBloomFilters;
}

/** A part that has been written. */
export interface PartToMeasure {
  readonly path: string;
  readonly firstRow: number;
  readonly types: readonly ColumnType[];
  /** The part gets Bloom filters if it has at least so many bytes. */
  readonly bloomBytesMin: number;
}

/** For a smaller file, reading all columns takes less time than asking first which of them have nulls. */
const ASKED_BYTES_MIN = 1024 * 1024;

/** The columns whose every row group says how many nulls it has, and says none. */
const COLUMNS_WITHOUT_NULLS = `
  SELECT path_in_schema FROM parquet_metadata($1)
  GROUP BY path_in_schema HAVING count(stats_null_count) = count(*) AND sum(stats_null_count) = 0`;

/** @throws the signal's reason, DuckDB's error, or the filesystem's */
export async function measurePart(
  duckDb: DuckDb,
  { path, firstRow, types, bloomBytesMin }: PartToMeasure,
  signal: AbortSignal,
): Promise<StagedPart> {
  const size = (await stat(path)).size;
  const values = [escapeGlob(path)];
  const full = size < ASKED_BYTES_MIN ? [] : await duckDb.query({ text: COLUMNS_WITHOUT_NULLS, values }, signal);
  const rowBytes = rowBytesKnowing(new Set(full.map(([name]) => String(name))), types);
  const columns = size < bloomBytesMin ? [] : bloomColumns(types);
  const measure = async (hashed: readonly number[]) =>
    (await duckDb.query({ text: measurement(rowBytes, hashed), values }, signal))[0] ?? [];
  // A part can do without filters, and its hashes may need more memory than all else.
  const measured = await measure(columns).catch((error: unknown) => {
    if (columns.length === 0 || !isOutOfMemory(error)) throw error;
    return measure([]);
  });
  const [rowCount, cellBytes, rowBytesMax] = measured.slice(0, 3).map(Number) as [number, number, number];
  const layout = await measureBlocks(duckDb, { path, objectBytes: size, rowCount }, signal);
  const { sha256, bytes: objectBytes, blocks } = await checksumWithBlocks(path, layout, signal);
  const hashes = hashesOf(measured, columns);
  const bloomFilters = hashes.size === 0 ? undefined : await writeBloomFilters(duckDb, hashes, `${path}.bloom`, signal);
  return {
    ...{ path, firstRow, rowCount, cellBytes, rowBytesMax, objectBytes, sha256, blocks },
    ...(bloomFilters && { bloomFilters }),
  };
}

/** Rows, cell bytes and the widest row; then for each of the columns the hashes of its values. All with one reading. */
function measurement(rowBytes: string, hashed: readonly number[]): string {
  const lists = hashed.map((column) => `, list(h${column})`).join('');
  const hashes = hashed.map((column) => `, ${bloomHash(column)} AS h${column}`).join('');
  return `SELECT count(*), coalesce(sum(b), 0), coalesce(max(b), 0)${lists} FROM (SELECT ${rowBytes} AS b${hashes} FROM read_parquet($1))`;
}

function hashesOf(measured: Row, columns: readonly number[]): ReadonlyMap<number, Uint32Array> {
  const lists = measured.slice(3);
  return new Map(
    columns.flatMap((column, at) => {
      const list = lists[at];
      return list instanceof Uint32Array ? [[column, list] as const] : [];
    }),
  );
}

/** SQL for the cell bytes of a row that does not read columns of fixed width without nulls: all their rows take the same. */
function rowBytesKnowing(withoutNulls: ReadonlySet<string>, types: readonly ColumnType[]): string {
  const widths = types.map((type, i) => (withoutNulls.has(storedColumn(i)) ? fixedWidthOf(type) : undefined));
  const indexes = [...types.keys()].filter((i) => widths[i] === undefined);
  const known = widths.reduce<number>((sum, width) => sum + (width ?? 0), 0);
  const others = rowBytesOf(
    indexes.map((i) => types[i] as ColumnType),
    (place) => storedColumn(indexes[place] as number),
  );
  return `${known}::BIGINT + (${others})`;
}
