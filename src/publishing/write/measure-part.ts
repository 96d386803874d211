/** What the manifest says of a part that has been written: rows, bytes, checksum, hashes of its blocks. */
import { stat } from 'node:fs/promises';
import type { ColumnType } from '../../domain/column-type.ts';
import type { Part } from '../../domain/result-set.ts';
import { fixedWidthOf, rowBytesOf } from '../../duckdb/cell-bytes.ts';
import type { DuckDb } from '../../duckdb/duckdb.ts';
import { escapeGlob } from '../../duckdb/escape-glob.ts';
import { storedColumn } from '../../duckdb/storage-type.ts';
import { checksumWithBlocks } from '../../files/block-checksums.ts';
import { measureBlocks } from './part-blocks.ts';

/** A part on its way: where it is staged, and all that the manifest says of it but its key. */
export interface StagedPart extends Omit<Part, 'key'> {
  readonly path: string;
}

/** Of a smaller file, to read all columns takes less than to ask first which of them have nulls. */
const ASKED_BYTES_MIN = 1024 * 1024;

/** The columns whose every row group says how many nulls it has, and says none. */
const COLUMNS_WITHOUT_NULLS = `
  SELECT path_in_schema FROM parquet_metadata($1)
  GROUP BY path_in_schema HAVING count(stats_null_count) = count(*) AND sum(stats_null_count) = 0`;

/** @throws the signal's reason, DuckDB's error, or the filesystem's */
export async function measurePart(
  duckDb: DuckDb,
  path: string,
  firstRow: number,
  types: readonly ColumnType[],
  signal: AbortSignal,
): Promise<StagedPart> {
  const size = (await stat(path)).size;
  const values = [escapeGlob(path)];
  const full = size < ASKED_BYTES_MIN ? [] : await duckDb.query({ text: COLUMNS_WITHOUT_NULLS, values }, signal);
  const rowBytes = rowBytesKnowing(new Set(full.map(([name]) => String(name))), types);
  const text = `SELECT count(*), coalesce(sum(b), 0), coalesce(max(b), 0) FROM (SELECT ${rowBytes} AS b FROM read_parquet($1))`;
  const [[rowCount, cellBytes, rowBytesMax] = []] = await duckDb.query({ text, values }, signal);
  const written = { path, objectBytes: size, rowCount: Number(rowCount) };
  const layout = await measureBlocks(duckDb, written, signal);
  const { sha256, bytes: objectBytes, blocks } = await checksumWithBlocks(path, layout, signal);
  return {
    path,
    firstRow,
    rowCount: written.rowCount,
    cellBytes: Number(cellBytes),
    rowBytesMax: Number(rowBytesMax),
    objectBytes,
    sha256,
    blocks,
  };
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
