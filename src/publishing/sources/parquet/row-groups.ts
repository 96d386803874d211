/** The row groups of a Parquet file: where one that is damaged lies among the rows. */
import type { DuckDb } from '../../../duckdb/duckdb.ts';

export interface RowGroup {
  /** Counted from 0. */
  readonly firstRow: number;
  readonly rowCount: number;
}

/** @param path as DuckDB takes it @throws DuckDB's error; the signal's reason */
export async function readRowGroups(duckDb: DuckDb, path: string, signal: AbortSignal): Promise<readonly RowGroup[]> {
  const text = 'SELECT DISTINCT row_group_id, row_group_num_rows FROM parquet_metadata($1) ORDER BY row_group_id';
  let end = 0;
  return (await duckDb.query({ text, values: [path] }, signal)).map(([, rows]) => {
    const rowCount = Number(rows);
    end += rowCount;
    return { firstRow: end - rowCount, rowCount };
  });
}

/** To stand behind the name of a column. Empty where there is no such group. @param index from 0; told from 1, as rows are */
export function inRowGroup(groups: readonly RowGroup[], index: number): string {
  const group = groups[index];
  if (group === undefined) return '';
  return `, row group ${index + 1} (rows ${group.firstRow + 1} to ${group.firstRow + group.rowCount})`;
}
