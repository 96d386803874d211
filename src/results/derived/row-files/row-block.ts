/** One block of a row file: packing the encoded rows, and reading them again (row-file-format.ts). */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { RowFileDamaged } from './row-file-format.ts';

/** Level 3 is larger and slower, with texts of some kilobytes. */
const LEVEL_1 = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** Without room to spare zlib would take another turn only to find that nothing is left. */
const SPARE_BYTES = 64;
/** Unpacking more at once would hold up other requests: a part with such rows is read by DuckDB. */
export const BLOCK_BYTES_MAX = 2 * 1024 * 1024;

export const COMMA = 0x2c;
export const LINE_FEED = 0x0a;

/** Rows as they are packed: numbers for each row, and the text of all. */
export interface PackedRows {
  /** Bytes of each row's text; its cell bytes; then those of each sized column. */
  readonly numbers: readonly ArrayLike<number>[];
  readonly text: Uint8Array;
}

/** @param numbers of rows `from` to `to` @param text of the same rows, with a comma between two of them */
export function packBlock(numbers: readonly ArrayLike<number>[], from: number, to: number, text: Uint8Array): Buffer {
  const rows = to - from;
  const content = Buffer.allocUnsafe(4 * numbers.length * rows + text.length);
  let at = 0;
  for (const ofRows of numbers) {
    for (let row = from; row < to; row += 1) at = content.writeUInt32LE(ofRows[row] ?? 0, at);
  }
  content.set(text, at);
  const frame = zstdCompressSync(content, LEVEL_1);
  const block = Buffer.allocUnsafe(4 + frame.length);
  block.writeUInt32LE(content.length, 0);
  block.set(frame, 4);
  return block;
}

/** The rows of a block. */
export class RowBlock {
  readonly #content: Buffer;
  readonly #rows: number;
  /** Where the text begins. */
  readonly #text: number;

  /** @param block whole and checked @param tables of numbers before the text @throws RowFileDamaged */
  constructor(block: Buffer, rows: number, tables: number) {
    const bytes = block.readUInt32LE(0);
    this.#content = zstdDecompressSync(block.subarray(4), { chunkSize: bytes + SPARE_BYTES });
    this.#rows = rows;
    this.#text = 4 * rows * tables;
    if (this.#content.length !== bytes || bytes < this.#text)
      throw new RowFileDamaged('a block has not the bytes it says');
  }

  get byteLength(): number {
    return this.#content.length;
  }

  /** Of a table: 0 the bytes of a row's text, 1 its cell bytes, 2 and on those of its sized columns. */
  number(table: number, row: number): number {
    return this.#content.readUInt32LE(4 * (table * this.#rows + row));
  }

  /** Of rows `from` to `to`. */
  sum(table: number, from: number, to: number): number {
    let sum = 0;
    for (let row = from; row < to; row += 1) sum += this.number(table, row);
    return sum;
  }

  /** Where the text of a row begins within `bytes`; that of the row after the last ends with what lies behind it. */
  start(row: number): number {
    return this.#text + this.sum(0, 0, row) + row;
  }

  /** All of the block's content. */
  get bytes(): Buffer {
    return this.#content;
  }

  /** The text of rows `from` to `to`, of which there is at least one. @param separator what is to stand between two rows */
  text(from: number, to: number, separator: number): Buffer {
    let at = this.start(from);
    const start = at;
    for (let row = from; row < to; row += 1) {
      at += this.number(0, row);
      if (separator !== COMMA && row < to - 1) this.#content[at] = separator;
      at += 1;
    }
    if (at - 1 > this.#content.length) throw new RowFileDamaged('the rows of a block take more bytes than it has');
    return this.#content.subarray(start, at - 1);
  }
}
