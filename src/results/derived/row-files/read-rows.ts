/** Reads rows of one part from its row file. Bytes and cell bytes are the same as when DuckDB reads the part. */
import type { RowRange } from '../../../domain/blocks.ts';
import type { RowBlock } from './row-block.ts';
import type { RowFile } from './row-file.ts';
import type { RowProjection } from './row-projection.ts';

export interface ReadRows {
  /** The rows' text, with separators between rows and none at the ends. */
  readonly byteChunks: readonly Uint8Array[];
  readonly rowCount: number;
  readonly cellBytes: number;
}

/** Short texts are copied together up to this: sending each by itself would cost more. */
const CHUNK_BYTES = 256 * 1024;

/** @param separator the byte between two rows @throws RowFileDamaged; the signal's reason */
export async function readRange(
  file: RowFile,
  { from, to }: RowRange,
  projection: RowProjection,
  separator: number,
  signal: AbortSignal,
): Promise<ReadRows> {
  const texts = new JoinedTexts(separator);
  let cellBytes = 0;
  const take = (block: RowBlock, first: number, end: number) => {
    const taken = projection.take(block, first, end, separator);
    texts.add(taken.text);
    cellBytes += taken.cellBytes;
    return true;
  };
  await file.read(from, to, { take, settle: () => texts.join() }, signal);
  return { byteChunks: texts.chunks, rowCount: to - from, cellBytes };
}

/**
 * How many of the range's first rows have at most `cellBytesMax` together, and the cell bytes of these.
 * @throws as `readRange`
 */
export async function fitRows(
  file: RowFile,
  { from, to }: RowRange,
  projection: RowProjection,
  cellBytesMax: number,
  signal: AbortSignal,
): Promise<{ readonly rowCount: number; readonly cellBytes: number }> {
  let rowCount = 0;
  let cellBytes = 0;
  const take = (block: RowBlock, first: number, end: number) => {
    for (let row = first; row < end; row += 1) {
      const bytes = projection.cellBytes(block, row);
      if (cellBytes + bytes > cellBytesMax) return false;
      cellBytes += bytes;
      rowCount += 1;
    }
    return true;
  };
  await file.read(from, to, { take, settle: () => undefined }, signal);
  return { rowCount, cellBytes };
}

/** One row that `readScattered` was asked for. */
export interface ReadRow {
  readonly text: Uint8Array;
  readonly cellBytes: number;
}

/** @param rows rows of the part, ascending, none twice @returns them in that order @throws as `readRange` */
export async function readScattered(
  file: RowFile,
  rows: readonly number[],
  projection: RowProjection,
  signal: AbortSignal,
): Promise<readonly ReadRow[]> {
  const read: ReadRow[] = [];
  const take = (block: RowBlock, from: number, to: number) => {
    const { text, cellBytes } = projection.take(block, from, to, 0);
    // A copy: a view would keep the whole block in memory as long as the row.
    read.push({ text: Buffer.from(text), cellBytes });
  };
  await file.readRows(rows, take, signal);
  return read;
}

/** Texts one after another, with a separator between them. */
class JoinedTexts {
  readonly #separator: Uint8Array;
  readonly #chunks: Uint8Array[] = [];
  #texts: Uint8Array[] = [];
  #bytes = 0;
  #isFirst = true;

  constructor(separator: number) {
    this.#separator = Buffer.of(separator);
  }

  add(text: Uint8Array): void {
    if (!this.#isFirst) this.#texts.push(this.#separator);
    this.#isFirst = false;
    this.#texts.push(text);
    this.#bytes += text.byteLength + 1;
    if (this.#bytes >= CHUNK_BYTES) this.join();
  }

  /** Copies what was added since the last time. */
  join(): void {
    if (this.#texts.length === 0) return;
    this.#chunks.push(Buffer.concat(this.#texts));
    this.#texts = [];
    this.#bytes = 0;
  }

  /** What has been joined. */
  get chunks(): readonly Uint8Array[] {
    return this.#chunks;
  }
}
