/**
 * Writes rows to Parquet files and sends them. The footer of a Parquet file says how to read what comes before it, and DuckDB writes
 * the file as a whole. So the file is made in a folder of this process, in the queue of heavy work, sent from there, and deleted, also
 * when the client leaves. How much disk such files may take together is bounded.
 */
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { RowRange } from '../../domain/blocks.ts';
import { allRowsOf, type Part, rowGroupRowsFor } from '../../domain/result-set.ts';
import type { Sleep } from '../../domain/time.ts';
import type { DuckDb } from '../../duckdb/duckdb.ts';
import { inStoredOrder } from '../../duckdb/row-order.ts';
import type { RowOrder } from '../../duckdb/statement.ts';
import { RequestError } from '../../errors/errors.ts';
import { ObjectDamaged, type OpenObject } from '../../store/result-store.ts';
import { compileCellBytes, compileExport, type PartRows } from '../compile/parquet.ts';
import type { ProjectedColumn } from '../compile/row-encoding.ts';
import { type DerivedBudget, withRoom } from '../derived/budget.ts';
import { withinMillis } from '../limits/time-limit.ts';
import type { WorkQueue } from '../limits/work-queue.ts';
import { readFailure } from '../read-failure.ts';

export interface ParquetExportsOptions {
  /** Absolute; there, empty, this process's own, and one that `duckDb` may write to. */
  readonly directory: string;
  /** The most disk for files that are being written or sent. One is always let in, whatever its size. */
  readonly bytesMax: number;
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

const CHUNK_BYTES = 256 * 1024;

export class ParquetExports {
  readonly #options: ParquetExportsOptions;
  #bytes = 0;

  constructor(options: ParquetExportsOptions) {
    this.#options = options;
  }

  /** Disk set apart for files that are being written or sent. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The rows as one Parquet file, in order; nothing is read before the first chunk is taken.
   * @param onWritten told the cell bytes of the rows, before the first chunk
   * @throws RequestError overloaded · read_timeout · result_damaged, all before the first chunk; the signal's reason
   */
  async *chunks(
    rows: ExportedRows,
    signal: AbortSignal,
    onWritten: (cellBytes: number) => void,
  ): AsyncGenerator<Uint8Array> {
    using _ = this.#setApart(bytesMaxOf(rows));
    const folder = await mkdtemp(join(this.#options.directory, 'export-'));
    try {
      const path = join(folder, 'rows.parquet');
      onWritten(await this.#options.queue.run(rows.keyId, () => this.#write(rows, path, signal), signal));
      yield* createReadStream(path, { highWaterMark: CHUNK_BYTES, signal });
    } finally {
      // A write that was interrupted leaves files of other names, so the folder goes; at the latest with the process.
      await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    }
  }

  #setApart(bytes: number): Disposable {
    if (this.#bytes > 0 && this.#bytes + bytes > this.#options.bytesMax) {
      throw new RequestError('overloaded', 'too many Parquet files are being sent; try again in some seconds');
    }
    this.#bytes += bytes;
    return {
      [Symbol.dispose]: () => {
        this.#bytes -= bytes;
      },
    };
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

/** What the file may take: no more than the parts that its rows come from, nor than the widest rows would. */
function bytesMaxOf(rows: ExportedRows): number {
  const touched = touchedParts(rows);
  const stored = touched.reduce((sum, part) => sum + part.objectBytes, 0);
  const widest = touched.reduce((max, part) => Math.max(max, part.rowBytesMax), 0);
  const footer = 1024 * (1 + rows.columns.length);
  return footer + Math.min(stored, (rows.to - rows.from) * (widest + 16 * rows.columns.length));
}
