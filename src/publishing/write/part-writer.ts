/**
 * Writes a source's rows as Parquet parts, in order, and measures each. A part is measured and hashed while the next one is
 * written; as soon as the limit is passed, writing stops, so an input of any size takes no more room than the limit.
 */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ColumnType } from '../../domain/column-type.ts';
import { rowGroupRowsOf } from '../../domain/result-set.ts';
import { sumOf } from '../../domain/sum-of.ts';
import type { Sleep } from '../../domain/time.ts';
import { rowBytesOf } from '../../duckdb/cell-bytes.ts';
import type { DuckDb } from '../../duckdb/duckdb.ts';
import { escapeGlob } from '../../duckdb/escape-glob.ts';
import { parquetOptions } from '../../duckdb/parquet-options.ts';
import { quoteText } from '../../duckdb/quoting.ts';
import { inStoredOrder, requireStoredOrder } from '../../duckdb/row-order.ts';
import type { RowOrder } from '../../duckdb/statement.ts';
import { storageType, storedColumn } from '../../duckdb/storage-type.ts';
import { hasCode } from '../../errors/system-code.ts';
import type { Source } from '../sources/source.ts';
import type { StagedWrites } from '../staging-budget.ts';
import { measurePart, type StagedPart } from './measure-part.ts';
import { storedRows } from './stored-rows.ts';

/** How often to look for parts that are finished. */
const LOOK_MILLIS = 100;

/** DuckDB begins the next file before it has finished the one before, so both may be unfinished while it writes. */
const UNFINISHED_MAX = 2;

export interface PartLayout {
  readonly rowGroupRows: number;
  /** A part has this many row groups, the last one fewer. */
  readonly rowGroupsPerPart: number;
  /** Rows of the pre-sample; a result of no more rows has none. */
  readonly preSampleRows: number;
  /** All parts get Bloom filters if the first one has at least so many bytes. */
  readonly bloomBytesMin: number;
  /** Cell bytes; the rows are cut before the first one that would exceed it. */
  readonly resultBytesMax: number;
}

export interface StagedParts {
  readonly parts: readonly StagedPart[];
  readonly truncated: boolean;
}

export interface PartsTarget {
  /** Empty or not there yet. */
  readonly folder: string;
  readonly layout: PartLayout;
  readonly sleep: Sleep;
  /** Told of each part when it is finished. */
  readonly staged: Pick<StagedWrites, 'take'>;
  /** Told how many rows are finished, and how many cell bytes. */
  readonly onRows: (rows: number, bytes: number) => void;
}

/**
 * @param duckDb has one thread: with more, DuckDB writes several files out of order
 */
export async function writeParts(
  duckDb: DuckDb,
  source: Source,
  { folder, layout, sleep, staged, onRows }: PartsTarget,
  signal: AbortSignal,
): Promise<StagedParts> {
  const types = source.columns.map((column) => column.type);
  const rows = storedRows(source, storedColumn);
  const copy = copyStatement(rows, source, { folder, layout });
  // Rows of CSV and JSON have no numbers to be ordered by.
  await requireStoredOrder(duckDb, copy, rows, signal);
  const enough = new AbortController();
  const writing = duckDb.query(copy, AbortSignal.any([signal, enough.signal]));
  let finished = false;
  const ended = writing.then(
    () => {
      finished = true;
    },
    () => {
      finished = true;
    },
  );
  const parts: StagedPart[] = [];
  let bytes = 0;
  let firstRow = 0;
  try {
    for (let last = false; !last && bytes <= layout.resultBytesMax; ) {
      last = finished;
      const complete = (await countParts(folder)) - (last ? 0 : UNFINISHED_MAX);
      if (last) await writing;
      while (parts.length < complete && bytes <= layout.resultBytesMax) {
        const path = join(folder, `part-${parts.length}.parquet`);
        const bloomBytesMin = parts[0]?.bloomFilters === undefined ? layout.bloomBytesMin : 0;
        const part = await measurePart(duckDb, { path, firstRow, types, bloomBytesMin }, signal);
        await staged.take(part.objectBytes + (part.bloomFilters?.objectBytes ?? 0));
        parts.push(part);
        bytes += part.cellBytes;
        firstRow += part.rowCount;
        onRows(firstRow, bytes);
      }
      if (!last) await Promise.race([ended, sleep(LOOK_MILLIS, signal)]);
    }
  } finally {
    enough.abort();
    await ended;
  }
  const kept = parts.filter((part) => part.rowCount > 0);
  if (bytes <= layout.resultBytesMax) return { parts: kept, truncated: false };
  return { parts: await cut(duckDb, kept, types, layout, signal), truncated: true };
}

function copyStatement(rows: string, source: Source, { folder, layout }: Pick<PartsTarget, 'folder' | 'layout'>) {
  return {
    text: `COPY (${rows}) TO ${quoteText(folder)} (${partOptions(layout, source.columns.length)},
      ROW_GROUPS_PER_FILE ${layout.rowGroupsPerPart}, FILENAME_PATTERN 'part-{i}')`,
    values: [source.path],
  };
}

/** zstd at level 1: a bare COPY of 8.6 million rows took 7.4 s against 9.7 at DuckDB's level 3, for 386 MB against 391. */
export function partOptions(layout: Pick<PartLayout, 'rowGroupRows'>, columnCount: number): string {
  const rows = rowGroupRowsOf(columnCount, layout.rowGroupRows);
  return `${parquetOptions('zstd', rows, columnCount)}, COMPRESSION_LEVEL 1`;
}

async function countParts(folder: string): Promise<number> {
  try {
    return (await readdir(folder)).filter((name) => /^part-[0-9]+\.parquet$/.test(name)).length;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 0;
    throw error;
  }
}

/** Keeps the longest run of rows from the first that is within the limit: a running sum only in the last part. */
async function cut(
  duckDb: DuckDb,
  parts: readonly StagedPart[],
  types: readonly ColumnType[],
  layout: PartLayout,
  signal: AbortSignal,
): Promise<readonly StagedPart[]> {
  const whole = parts.slice(0, -1);
  const last = parts.at(-1);
  if (last === undefined) return [];
  const room = layout.resultBytesMax - sumOf(whole, 'cellBytes');
  const running = `sum(${rowBytesOf(types)}) OVER (ORDER BY file_row_number ROWS UNBOUNDED PRECEDING)`;
  const rows = `SELECT ${running} AS b FROM read_parquet($1, file_row_number = true)`;
  const counted = await duckDb.query(
    { text: `SELECT count(*) FROM (${rows}) WHERE b <= $2::DOUBLE`, values: [escapeGlob(last.path), room] },
    signal,
  );
  const rowCount = Number(counted[0]?.[0]);
  if (rowCount === 0) return whole;
  const path = `${last.path}.cut`;
  const columns = types.map((type, i) => `${storedColumn(i)}::${storageType(type)} AS ${storedColumn(i)}`).join(', ');
  const kept = `SELECT ${columns} FROM read_parquet($1, file_row_number = true) WHERE file_row_number < $2::BIGINT`;
  const cutting = (order: RowOrder) => ({
    text: `COPY (${kept}${order === 'asked' ? ' ORDER BY file_row_number' : ''}) TO ${quoteText(path)} (${partOptions(layout, types.length)})`,
    values: [escapeGlob(last.path), rowCount],
  });
  await duckDb.query(await inStoredOrder(duckDb, cutting, signal), signal);
  await rm(last.path);
  const bloomBytesMin = last.bloomFilters === undefined ? Number.POSITIVE_INFINITY : 0;
  return [...whole, await measurePart(duckDb, { path, firstRow: last.firstRow, types, bloomBytesMin }, signal)];
}
