/**
 * Writes rows to a Parquet file, in the queue of heavy work. A Parquet file's footer says how to read what comes before it, and
 * DuckDB writes the file as a whole. So the file is complete, checked and measured before its first byte is sent.
 * `parquet-files.ts` keeps it.
 */
import { createHash } from 'node:crypto';
import type { RowRange } from '../../domain/blocks.ts';
import type { QueryWords } from '../../domain/column-descriptions.ts';
import { allRowsOf, type Part, rowGroupRowsFor, widestRowOf } from '../../domain/result-set.ts';
import { sumOf } from '../../domain/sum-of.ts';
import type { Sleep } from '../../domain/time.ts';
import type { DuckDb } from '../../duckdb/duckdb.ts';
import { inStoredOrder } from '../../duckdb/row-order.ts';
import type { RowOrder } from '../../duckdb/statement.ts';
import { hashStretch, newChunk } from '../../files/checksum.ts';
import { type DiskRoom, withRoom } from '../../files/disk-room.ts';
import type { MadeFile } from '../../files/made-file.ts';
import { ObjectDamaged, type OpenObject } from '../../store/result-store.ts';
import { compileCellBytes, compileExport, type PartRows } from '../compile/parquet.ts';
import type { ProjectedColumn } from '../compile/row-encoding.ts';
import { openAll } from '../limits/open-all.ts';
import { withinMillis } from '../limits/time-limit.ts';
import type { WorkQueue } from '../limits/work-queue.ts';
import { readFailure } from '../read-failure.ts';

export interface ParquetExportsOptions {
  /** May have several threads: rows keep their order in a single file. */
  readonly duckDb: DuckDb;
  readonly queue: WorkQueue;
  /** On a full disk, what nobody reads is removed. */
  readonly room: DiskRoom;
  /** The longest time for writing a file. */
  readonly millisMax: number;
  readonly sleep: Sleep;
}

/** Rows `from` to `to` (exclusive), counted over these consecutive parts. */
export interface ExportedRows {
  /** The key whose export it is: keys take turns. */
  readonly keyId: string;
  readonly columns: readonly ProjectedColumn[];
  /** What the file says of its query. */
  readonly words?: QueryWords | undefined;
  readonly parts: readonly Part[];
  readonly open: (part: Part, rows: RowRange, signal: AbortSignal) => Promise<OpenObject>;
  readonly from: number;
  readonly to: number;
}

/**
 * The most rows of a row group in the file: DuckDB's default. Wide rows get fewer, since DuckDB holds one row group in memory.
 */
const ROW_GROUP_ROWS_MAX = 122_880;
const ROW_GROUP_BYTES_AIM = 64 * 1024 * 1024;

const EVERYTHING = { offset: 0, bytes: Number.POSITIVE_INFINITY };

/** A file that has been written. */
export interface WrittenParquet {
  readonly bytes: number;
  /** Of the whole file, base64. */
  readonly sha256: string;
  /** Of the rows. */
  readonly cellBytes: number;
}

export class ParquetExports {
  readonly #options: ParquetExportsOptions;

  constructor(options: ParquetExportsOptions) {
    this.#options = options;
  }

  /**
   * Writes the rows as one Parquet file, in order.
   * @param file in a folder to which `duckDb` may write; a failed write may leave files of other names there
   * @throws RequestError overloaded · read_timeout · result_damaged; the signal's reason
   */
  async write(rows: ExportedRows, file: MadeFile, signal: AbortSignal): Promise<WrittenParquet> {
    const write = () => this.#write(rows, file.path, signal);
    const cellBytes = await file.write(() => this.#options.queue.run(rows.keyId, write, signal));
    // DuckDB does not promise the same bytes for the same rows, so the file's identity is a hash of its bytes.
    const hash = createHash('sha256');
    const bytes = await hashStretch(file.handle, EVERYTHING, [hash], newChunk(), signal);
    return { bytes, sha256: hash.digest('base64'), cellBytes };
  }

  /** @returns the cell bytes of the rows */
  async #write(rows: ExportedRows, path: string, signal: AbortSignal): Promise<number> {
    const { duckDb, millisMax, sleep, room } = this.#options;
    return await withinMillis({ millisMax, duckDb, sleep }, signal, async (within) => {
      await using objects = new AsyncDisposableStack();
      const touched = touchedParts(rows);
      try {
        const openPart = (part: Part, opening: AbortSignal) => rows.open(part, rowsRead(part, rows), opening);
        const { paths, during } = await openAll(touched, openPart, objects, within);
        const read = partRows(rows, touched, paths);
        return await during(async () => {
          const [cellBytes] = await withRoom(room, () => duckDb.query(compileCellBytes(rows.columns, read), within));
          const rowGroupRows = rowGroupRowsFor(touched, ROW_GROUP_ROWS_MAX, ROW_GROUP_BYTES_AIM);
          const writing = (order: RowOrder) => compileExport(rows, read, { path, rowGroupRows }, order);
          const statement = await inStoredOrder(duckDb, writing, within);
          const [written] = await withRoom(room, () => duckDb.query(statement, within));
          const expected = rows.to - rows.from;
          if (Number(written?.[0]) !== expected) {
            throw new ObjectDamaged(touched[0]?.key ?? '', `${written?.[0]} rows where ${expected} are stored`);
          }
          return Number(cellBytes?.[0]);
        });
      } catch (error) {
        throw readFailure(error);
      }
    });
  }
}

/**
 * What is read of a part: of a single part only the row groups with the rows, of several parts everything (compile/parquet.ts).
 */
function rowsRead(part: Part, { from, to }: ExportedRows): RowRange {
  const isAlone = from >= part.firstRow && to <= part.firstRow + part.rowCount;
  return isAlone ? { from: from - part.firstRow, to: to - part.firstRow } : allRowsOf(part);
}

function touchedParts({ parts, from, to }: ExportedRows): readonly Part[] {
  return parts.filter(({ firstRow, rowCount }) => firstRow < to && firstRow + rowCount > from);
}

function partRows({ from, to }: ExportedRows, touched: readonly Part[], paths: readonly string[]): PartRows {
  const [first, last] = [touched[0], touched.at(-1)];
  return { paths, from: from - (first?.firstRow ?? from), to: to - (last?.firstRow ?? to) };
}

/**
 * The most bytes that the file may take: no more than the parts that its rows come from, and no more than the widest rows
 * would.
 */
export function fileBytesMax(rows: ExportedRows): number {
  const touched = touchedParts(rows);
  const stored = sumOf(touched, 'objectBytes');
  const footer = 1024 * (1 + rows.columns.length) + 4 * JSON.stringify(rows.words ?? {}).length;
  return footer + Math.min(stored, (rows.to - rows.from) * (widestRowOf(touched) + 16 * rows.columns.length));
}
