/** Where the row groups of a part lie, as its footer says. */
import { open } from 'node:fs/promises';
import type { Blocks } from '../../domain/blocks.ts';
import { ROW_GROUP_ROWS_MIN } from '../../domain/result-set.ts';
import type { DuckDb } from '../../duckdb/duckdb.ts';
import { escapeGlob } from '../../duckdb/escape-glob.ts';

/** Of each row group its rows, its first byte and the one behind its last. */
const ROW_GROUPS = `
  SELECT any_value(row_group_num_rows), min(start), max(start + total_compressed_size)
  FROM (SELECT *, least(data_page_offset, coalesce(nullif(dictionary_page_offset, 0), data_page_offset)) AS start FROM parquet_metadata($1))
  GROUP BY row_group_id ORDER BY row_group_id`;

/** Behind the footer: its length in four bytes, and the mark PAR1. */
const TAIL_BYTES = 8;

export interface WrittenPart {
  readonly path: string;
  readonly objectBytes: number;
  readonly rowCount: number;
}

/** The blocks of a file that DuckDB has written: row group after row group, then the footer. */
export async function measureBlocks(
  duckDb: DuckDb,
  part: WrittenPart,
  signal: AbortSignal,
): Promise<Pick<Blocks, 'rows' | 'bytes'>> {
  const { path, objectBytes, rowCount } = part;
  // So few rows are one row group. Asking DuckDB where it lies would take longer than writing it did.
  if (rowCount > 0 && rowCount <= ROW_GROUP_ROWS_MIN) return await oneRowGroup(part);
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

async function oneRowGroup({ path, objectBytes, rowCount }: WrittenPart): Promise<Pick<Blocks, 'rows' | 'bytes'>> {
  await using file = await open(path, 'r');
  const tail = Buffer.alloc(TAIL_BYTES);
  await file.read(tail, 0, TAIL_BYTES, objectBytes - TAIL_BYTES);
  const footerBytes = tail.readUInt32LE(0) + TAIL_BYTES;
  if (footerBytes >= objectBytes) throw new Error(`the footer of ${path} is as long as the file`);
  return { rows: [rowCount], bytes: [objectBytes - footerBytes, footerBytes] };
}
