/**
 * Writes rows to a Parquet file, in the queue of heavy work. The footer of a Parquet file says how to read what comes before it, and
 * DuckDB writes the file as a whole: so it is there, and checked and measured, before its first byte can be sent. `parquet-files.ts`
 * keeps it.
 */
import { createHash } from 'node:crypto';
import { open as openFile } from 'node:fs/promises';
import type { RowRange } from '../../domain/blocks.ts';
import { allRowsOf, type Part, rowGroupRowsFor } from '../../domain/result-set.ts';
import type { Sleep } from '../../domain/time.ts';
import type { DuckDb } from '../../duckdb/duckdb.ts';
import { inStoredOrder } from '../../duckdb/row-order.ts';
import type { RowOrder } from '../../duckdb/statement.ts';
import { hashStretch, newChunk } from '../../files/checksum.ts';
import { ObjectDamaged, type OpenObject } from '../../store/result-store.ts';
import { compileCellBytes, compileExport, type PartRows } from '../compile/parquet.ts';
import type { ProjectedColumn } from '../compile/row-encoding.ts';
import { type DerivedBudget, withRoom } from '../derived/budget.ts';
import { withinMillis } from '../limits/time-limit.ts';
import type { WorkQueue } from '../limits/work-queue.ts';
import { readFailure } from '../read-failure.ts';

export interface ParquetExportsOptions {
  /** May have several threads: they keep the order of rows in a single file. */
  readonly duckDb: DuckDb;
  readonly queue: WorkQueue;
  /** Give up what nobody reads when the disk is full. */
  readonly derived: Pick<DerivedBudget, 'giveUpIdle'>;
  /** The longest that writing a file may take. */
  readonly millisMax: number;
  readonly sleep: Sleep;
}

/** Rows `from` to `to` (exclusive) of consecutive parts, counted as the parts count. */
export interface ExportedRows {
  /** Whose export it is: keys take turns. */
  readonly keyId: string;
  readonly columns: readonly ProjectedColumn[];
  readonly parts: readonly Part[];
  readonly open: (part: Part, rows: RowRange, signal: AbortSignal) => Promise<OpenObject>;
  readonly from: number;
  readonly to: number;
}

/** Of the row groups in a file; DuckDB's default, where rows are not wide: it holds one row group in memory. */
const ROW_GROUP_ROWS_MAX = 122_880;
const ROW_GROUP_BYTES_AIM = 64 * 1024 * 1024;

const EVERYTHING = { offset: 0, bytes: Number.POSITIVE_INFINITY };

/** A file that has been written. */
export interface WrittenParquet {
  readonly bytes: number;
  /** Of all its bytes, base64. */
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
   * @param path absolute; in a folder that `duckDb` may write to, where a write that fails may leave files of other names
   * @throws RequestError overloaded · read_timeout · result_damaged; the signal's reason
   */
  async write(rows: ExportedRows, path: string, signal: AbortSignal): Promise<WrittenParquet> {
    const cellBytes = await this.#options.queue.run(rows.keyId, () => this.#write(rows, path, signal), signal);
    await using file = await openFile(path);
    // DuckDB does not promise to write the same rows in the same bytes again, so the file is known by its bytes.
    const hash = createHash('sha256');
    const bytes = await hashStretch(file, EVERYTHING, [hash], newChunk(), signal);
    return { bytes, sha256: hash.digest('base64'), cellBytes };
  }

  /** @returns the cell bytes of the rows */
  async #write(rows: ExportedRows, path: string, signal: AbortSignal): Promise<number> {
    const { duckDb, millisMax, sleep, derived } = this.#options;
    return await withinMillis({ millisMax, duckDb, sleep }, signal, async (within) => {
      await using objects = new AsyncDisposableStack();
      const touched = touchedParts(rows);
      try {
        const paths: string[] = [];
        for (const part of touched) paths.push(objects.use(await rows.open(part, rowsRead(part, rows), within)).path);
        const read = partRows(rows, touched, paths);
        const [cellBytes] = await duckDb.query(compileCellBytes(rows.columns, read), within);
        const rowGroupRows = rowGroupRowsFor(touched, ROW_GROUP_ROWS_MAX, ROW_GROUP_BYTES_AIM);
        const writing = (order: RowOrder) => compileExport(rows.columns, read, path, rowGroupRows, order);
        const statement = await inStoredOrder(duckDb, writing, within);
        const [written] = await withRoom(derived, () => duckDb.query(statement, within));
        const expected = rows.to - rows.from;
        if (Number(written?.[0]) !== expected) {
          throw new ObjectDamaged(touched[0]?.key ?? '', `${written?.[0]} rows where ${expected} are stored`);
        }
        return Number(cellBytes?.[0]);
      } catch (error) {
        throw readFailure(error);
      }
    });
  }
}

/** What is read of a part: of one alone only the row groups that the rows are in, of several all (compile/parquet.ts). */
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

/** What the file may take, at most: no more than the parts that its rows come from, nor than the widest rows would. */
export function fileBytesMax(rows: ExportedRows): number {
  const touched = touchedParts(rows);
  const stored = touched.reduce((sum, part) => sum + part.objectBytes, 0);
  const widest = touched.reduce((max, part) => Math.max(max, part.rowBytesMax), 0);
  const footer = 1024 * (1 + rows.columns.length);
  return footer + Math.min(stored, (rows.to - rows.from) * (widest + 16 * rows.columns.length));
}
