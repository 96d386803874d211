/** Where the row groups of a part lie, as its footer says. */
import type { Blocks } from '../../domain/blocks.ts';
import type { DuckDb } from '../../duckdb/duckdb.ts';
import { escapeGlob } from '../../duckdb/escape-glob.ts';

/** Of each row group its rows, its first byte and the one behind its last. */
const ROW_GROUPS = `
  SELECT any_value(row_group_num_rows), min(start), max(start + total_compressed_size)
  FROM (SELECT *, least(data_page_offset, coalesce(nullif(dictionary_page_offset, 0), data_page_offset)) AS start FROM parquet_metadata($1))
  GROUP BY row_group_id ORDER BY row_group_id`;

/** @param objectBytes size of the file at `path`, which DuckDB has written: row group after row group, then the footer */
export async function measureBlocks(
  duckDb: DuckDb,
  path: string,
  objectBytes: number,
  signal: AbortSignal,
): Promise<Pick<Blocks, 'rows' | 'bytes'>> {
  const groups = await duckDb.query({ text: ROW_GROUPS, values: [escapeGlob(path)] }, signal);
  const rows: number[] = [];
  const bytes: number[] = [];
  let end = 0;
  for (const group of groups) {
    const [rowCount = 0, groupStart = 0, groupEnd = 0] = group.map(Number);
    if (groupStart < end || groupEnd <= groupStart) throw new Error(`row groups of ${path} do not follow one another`);
    rows.push(rowCount);
    bytes.push(groupEnd - end);
    end = groupEnd;
  }
  return { rows, bytes: [...bytes, objectBytes - end] };
}
