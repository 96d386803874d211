/** Statements over parts: each is run within its time, on files that are kept open as long as it takes. */
import type { RowRange } from '../../domain/blocks.ts';
import type { Part } from '../../domain/result-set.ts';
import type { Sleep } from '../../domain/time.ts';
import type { DuckDb, Row } from '../../duckdb/duckdb.ts';
import type { Statement } from '../../duckdb/statement.ts';
import { type DiskRoom, withRoom } from '../../files/disk-room.ts';
import { stateOfFile } from '../../files/file-state.ts';
import type { OpenObject } from '../../store/result-store.ts';
import { inByteChunks } from '../compile/in-byte-chunks.ts';
import type { RowsOf } from '../derived/row-files/rows-of.ts';
import { openAll } from '../limits/open-all.ts';
import { withinMillis } from '../limits/time-limit.ts';
import type { Queue, WorkQueue } from '../limits/work-queue.ts';
import { readFailure } from '../read-failure.ts';
import type { ByteChunks } from './byte-chunks.ts';
import type { PartRange } from './part-ranges.ts';
import type { Prefetch } from './range-prefetch.ts';

export interface PartReaderDeps {
  /** Reads out of many parts at once: with all threads. */
  readonly scanner: DuckDb;
  /** Makes a part's file available for reading these rows, counted within it. */
  readonly open: (part: Part, rows: RowRange, signal: AbortSignal) => Promise<OpenObject>;
  /** Has such rows fetched before they are opened; undefined where parts are local. */
  readonly prefetch: Prefetch | undefined;
  /** Rows that have been encoded before; undefined where none are. */
  readonly rows: RowsOf | undefined;
  /** Reads ranges: one thread, so that rows keep their order and many reads at a time do not get in each other's way. */
  readonly rangeReader: DuckDb;
  /** How many ranges of one answer are read side by side. */
  readonly rangesAtOnce: number;
  /** Whose read it is: keys take turns. */
  readonly keyId: string;
  /** Where pages take turns: more at a time than there are cores would only make all of them slower. */
  readonly pageTurns: Queue;
  /**
   * Where pages of several ranges take turns to be put together. If all were begun at once, each would hold in memory what it has of its
   * rows until the last is done.
   */
  readonly assembling: Pick<WorkQueue, 'enter'>;
  /** Where searches of many rows take turns: each takes all threads, and a thread of the pool that files are read on. */
  readonly searches: Queue;
  /** Where long reads take turns, one range at a time. */
  readonly exports: Queue;
  /** The longest that one statement may take. */
  readonly statementMillisMax: number;
  /** How much of that time had passed before. */
  readonly waitedMillis?: number;
  /** Milliseconds that only ever grow. */
  readonly monotonic: () => number;
  readonly sleep: Sleep;
  /** On a full disk, what nobody reads is removed for what has to be spilled. */
  readonly room: DiskRoom;
}

/** @param paths one for each range */
export type CompileFor = (paths: readonly string[], signal: AbortSignal) => Statement | Promise<Statement>;

/** Encoded rows, as the statements of `compile/range.ts` and `compile/view.ts` answer with them. */
export interface EncodedRows {
  /** None where there are no rows. */
  readonly byteChunks: ByteChunks;
  readonly rowCount: number;
  readonly cellBytes: number;
  /** The fourth value of the statement's row; what it means depends on the statement. */
  readonly fourth: Row[number] | undefined;
}

export interface EncodedRead {
  readonly compile: CompileFor;
  /** About the most bytes that the encoded rows can have. */
  readonly bytesMax: number;
}

/** Rows that may have more bytes are fetched in several chunks. For fewer, planning the cut would take longer than the event loop is held. */
const WHOLE_BYTES_MAX = 8 * 1024 * 1024;

/** @throws as `readParts` does */
export async function readEncoded(
  deps: PartReaderDeps,
  duckDb: DuckDb,
  ranges: readonly PartRange[],
  { compile, bytesMax }: EncodedRead,
  signal: AbortSignal,
): Promise<EncodedRows> {
  const compileLong = async (paths: readonly string[], within: AbortSignal) =>
    inByteChunks(await compile(paths, within));
  const rows = await readParts(deps, duckDb, ranges, bytesMax > WHOLE_BYTES_MAX ? compileLong : compile, signal);
  const [, rowCount, cellBytes, fourth] = rows[0] ?? [];
  return {
    byteChunks: rows.flatMap(([bytes]) => (bytes instanceof Uint8Array ? [bytes] : [])),
    rowCount: Number(rowCount ?? 0),
    cellBytes: Number(cellBytes ?? 0),
    fourth,
  };
}

/**
 * Reads the ranges by one statement. If somebody removes a file after it was opened and before it is read, all are opened once more: fetched
 * again, made anew, or reported as missing.
 * @throws RequestError read_timeout · result_damaged; the signal's reason
 */
export async function readParts(
  {
    open,
    statementMillisMax: millisMax,
    waitedMillis = 0,
    sleep,
    room,
  }: Pick<PartReaderDeps, 'open' | 'statementMillisMax' | 'waitedMillis' | 'sleep' | 'room'>,
  duckDb: DuckDb,
  ranges: readonly PartRange[],
  compile: CompileFor,
  signal: AbortSignal,
): Promise<readonly Row[]> {
  return await withinMillis({ millisMax, waitedMillis, duckDb, sleep }, signal, async (within) => {
    const openRange = ({ part, ...rows }: PartRange, opening: AbortSignal) => open(part, rows, opening);
    for (let isFirst = true; ; isFirst = false) {
      await using objects = new AsyncDisposableStack();
      let paths: readonly string[] = [];
      try {
        const files = await openAll(ranges, openRange, objects, within);
        paths = files.paths;
        return await files.during(async () => {
          const statement = await compile(files.paths, within);
          return await withRoom(room, () => duckDb.query(statement, within));
        });
      } catch (error) {
        if (!isFirst || within.aborted || !(await isAnyGone(paths))) throw readFailure(error);
      }
    }
  });
}

async function isAnyGone(paths: readonly string[]): Promise<boolean> {
  const states = await Promise.all(paths.map(stateOfFile));
  return states.includes(undefined);
}
