/**
 * Builds a row file: reads a part range by range, as answers are read, packs the rows into blocks and writes them to a new
 * file, synced. Not every part gets one: its rows may be too wide to unpack within a request's turn, or their text may take too
 * much more room than the part.
 */
import { type FileHandle, open, rm } from 'node:fs/promises';
import type { RowRange } from '../../../domain/blocks.ts';
import { type Column, ROW_GROUP_ROWS } from '../../../domain/result-set.ts';
import { type DuckDb, isOutOfMemory } from '../../../duckdb/duckdb.ts';
import { inTurn, readAhead } from '../../limits/read-ahead.ts';
import { NotBuildable } from '../build-queue.ts';
import { type RowTexts, readAbout, readRowTexts } from './read-row-texts.ts';
import { BLOCK_BYTES_MAX, packBlock } from './row-block.ts';
import { blockCrc, encodeIndex, type RowFileAbout, type RowTextsAbout } from './row-file-format.ts';
import type { Packing } from './zstd.ts';

export interface RowFileOrder {
  /** Absolute path of the part, whose rows were checked. */
  readonly part: string;
  /** Absolute path of the file to make. */
  readonly path: string;
  readonly identity: string;
  readonly columns: readonly Column[];
  readonly rowCount: number;
  /** Of the part. */
  readonly cellBytes: number;
  /** The most bytes for the file. */
  readonly bytesMax: number;
}

/** The most rows of a block: a row that an index has found is unpacked with few others. With half as many, all rows take a quarter longer. */
const BLOCK_ROWS_MAX = 32;
const BLOCK_BYTES_AIM = 64 * 1024;
const RANGE_BYTES_AIM = 4 * 1024 * 1024;
const RANGE_CELLS_AIM = 512 * 1024;
/** Of each range, a tenth of the time goes into opening the part. */
const RANGE_ROWS_MAX = 2 * ROW_GROUP_ROWS;
/** Offsets have 32 bits. */
const FILE_BYTES_MAX = 2 ** 32 - 1;
/** Blocks are packed quickly as long as the file keeps to this share of the most bytes that it may have. */
const QUICK_SHARE = 0.95;

/** The blocks together take more than the file may. */
class TooLarge extends NotBuildable {}

/** @returns the bytes of the file @throws NotBuildable; the signal's reason; the filesystem's error */
export async function buildRowFile(duckDb: DuckDb, order: RowFileOrder, signal: AbortSignal): Promise<number> {
  try {
    return await writeRowFile(duckDb, order, QUICK_SHARE, signal);
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    // Rows of the beginning, packed quickly, may have had the room of those that follow.
    await rm(order.path);
    return await writeRowFile(duckDb, order, 0, signal);
  }
}

/** @param quickShare of the most bytes: so many may be taken before blocks are packed small */
async function writeRowFile(
  duckDb: DuckDb,
  order: RowFileOrder,
  quickShare: number,
  signal: AbortSignal,
): Promise<number> {
  const { columns, rowCount } = order;
  const bytesMax = Math.min(order.bytesMax, FILE_BYTES_MAX);
  const about = await readAbout(duckDb, columns, signal);
  const file = await open(order.path, 'wx', 0o600);
  try {
    const written = new BlockWriter(file, { bytesMax, quickBytes: quickShare * bytesMax, rowCount });
    let blockRows = 0;
    const read = inTurn(
      async (range: RowRange, during: AbortSignal) => await readRange(duckDb, order, about, range, during),
    );
    // DuckDB reads the next range while this thread packs the one before; in turn, since rows may be so wide that two ranges do not fit.
    for await (const range of readAhead(rangesOf(order), 1, read, signal)) {
      for (const rows of range) {
        if (blockRows === 0) blockRows = blockRowsFor(rows.text.length / Math.max(1, rows.numbers[0]?.length ?? 0));
        await written.add(rows, blockRows);
      }
    }
    return await written.finish({
      identity: order.identity,
      rowCount,
      blockRows: Math.max(1, blockRows),
      ...about,
    });
  } finally {
    await file.close();
  }
}

/** @returns the rows in order, one row group after the other where they do not fit into memory together */
async function readRange(
  duckDb: DuckDb,
  order: RowFileOrder,
  about: RowTextsAbout,
  range: RowRange,
  signal: AbortSignal,
): Promise<readonly RowTexts[]> {
  const read = async (rows: RowRange) => await readRowTexts(duckDb, order, about, rows, signal);
  const again = async (rows: RowRange) => await readRange(duckDb, order, about, rows, signal);
  try {
    return [await read(range)];
  } catch (error) {
    if (!isOutOfMemory(error)) throw error;
  }
  // What lay about of earlier ranges has been freed by now.
  const { from, to } = range;
  const middle = from + ROW_GROUP_ROWS;
  if (middle < to) return [...(await again({ from, to: middle })), ...(await again({ from: middle, to }))];
  return [await read(range).catch(refuseOutOfMemory)];
}

/** So wide rows will not fit another time either, and the other parts of the result may have row files. */
function refuseOutOfMemory(error: unknown): never {
  throw isOutOfMemory(error) ? new NotBuildable('its rows are too wide for the memory of the builder') : error;
}

interface BlockLimits {
  readonly bytesMax: number;
  /** Blocks are packed quickly as long as those of all rows would keep to so many bytes. */
  readonly quickBytes: number;
  readonly rowCount: number;
}

/** Writes rows as blocks, one after another. */
class BlockWriter {
  readonly #file: FileHandle;
  readonly #limits: BlockLimits;
  #rows = 0;
  readonly #offsets: number[] = [0];
  readonly #sizes: number[] = [];
  readonly #crcs: number[] = [];

  constructor(file: FileHandle, limits: BlockLimits) {
    this.#file = file;
    this.#limits = limits;
  }

  async add({ text, numbers }: RowTexts, blockRows: number): Promise<void> {
    const lengths = numbers[0] ?? [];
    const blocks: Buffer[] = [];
    let at = 0;
    for (let from = 0; from < lengths.length; from += blockRows) {
      const to = Math.min(lengths.length, from + blockRows);
      let end = at + to - from;
      for (let row = from; row < to; row += 1) end += lengths[row] ?? 0;
      if (end - at > BLOCK_BYTES_MAX) throw new NotBuildable(`${to - from} rows take ${end - at} bytes as text`);
      const ofBlock = text.subarray(at, end);
      const packed = packBlock(numbers, from, to, ofBlock, this.#packing());
      this.#rows += to - from;
      this.#sizes.push(ofBlock.length);
      this.#crcs.push(blockCrc(this.#crcs.length, packed.numbers, packed.frame));
      this.#offsets.push(this.#end + packed.numbers.length + packed.frame.length);
      blocks.push(packed.numbers, packed.frame);
      at = end;
    }
    const { bytesMax } = this.#limits;
    if (this.#end > bytesMax) throw new TooLarge(`its file would take more than ${bytesMax} bytes`);
    await this.#file.appendFile(Buffer.concat(blocks));
  }

  async finish(about: RowFileAbout): Promise<number> {
    const index = encodeIndex({ about, offsets: this.#offsets, sizes: this.#sizes, crcs: this.#crcs });
    await this.#file.appendFile(index);
    await this.#file.sync();
    return this.#end + index.length;
  }

  /** Where texts are hardly smaller when packed quickly, as hashes are, some blocks make room for others. */
  #packing(): Packing {
    const { quickBytes, rowCount } = this.#limits;
    return this.#end < quickBytes * (this.#rows / rowCount) ? 'quick' : 'small';
  }

  get #end(): number {
    return this.#offsets.at(-1) ?? 0;
  }
}

function* rangesOf(order: RowFileOrder): Generator<RowRange> {
  const rows = rangeRows(order);
  for (let from = 0; from < order.rowCount; from += rows) yield { from, to: Math.min(order.rowCount, from + rows) };
}

/** A multiple of every possible number of rows in a block, and of row groups if so many rows fit. */
function rangeRows({ columns, rowCount, cellBytes }: RowFileOrder): number {
  const rowBytes = Math.max(1, cellBytes / Math.max(1, rowCount));
  const fitting = Math.min(RANGE_BYTES_AIM / rowBytes, RANGE_CELLS_AIM / Math.max(1, columns.length), RANGE_ROWS_MAX);
  const step = fitting < ROW_GROUP_ROWS ? BLOCK_ROWS_MAX : ROW_GROUP_ROWS;
  return Math.max(BLOCK_ROWS_MAX, fitting - (fitting % step));
}

/** @param rowBytes about the bytes of a row's text */
function blockRowsFor(rowBytes: number): number {
  let rows = BLOCK_ROWS_MAX;
  while (rows > 1 && rows * rowBytes > BLOCK_BYTES_AIM) rows /= 2;
  return rows;
}
