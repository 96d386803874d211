/** One block of a row file: packs the encoded rows, and reads them back (row-file-format.ts). */
import { constants, zstdCompressSync } from 'node:zlib';
import { RowFileDamaged } from './row-file-format.ts';

/** Level 3 is both larger and slower for texts of a few kilobytes. */
const LEVEL_1 = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** With an output buffer of just the right size zlib would be called once more, only to find that nothing is left. */
export const SPARE_BYTES = 64;
/** Unpacking more in one go would hold up other requests. A part with wider rows is read by DuckDB. */
export const BLOCK_BYTES_MAX = 2 * 1024 * 1024;

export const COMMA = 0x2c;
export const LINE_FEED = 0x0a;

export interface PackedBlock {
  /** The bytes in the file. */
  readonly frame: Buffer;
  readonly content: Buffer;
}

/** @param numbers of rows `from` to `to` @param text of the same rows, with a comma between them */
export function packBlock(
  numbers: readonly ArrayLike<number>[],
  from: number,
  to: number,
  text: Uint8Array,
): PackedBlock {
  const rows = to - from;
  const content = Buffer.allocUnsafe(4 * numbers.length * rows + text.length);
  let at = 0;
  for (const ofRows of numbers) {
    for (let row = from; row < to; row += 1) at = content.writeUInt32LE(ofRows[row] ?? 0, at);
  }
  content.set(text, at);
  const frame = zstdCompressSync(content, { ...LEVEL_1, chunkSize: content.length + SPARE_BYTES });
  return { frame, content };
}

/** The rows of a block. */
export class RowBlock {
  readonly #content: Buffer;
  readonly #rows: number;
  /** Where the text begins. */
  readonly #text: number;

  /** @param content the block's content @param tables the number of tables before the text */
  constructor(content: Buffer, rows: number, tables: number) {
    this.#content = content;
    this.#rows = rows;
    this.#text = 4 * rows * tables;
  }

  get byteLength(): number {
    return this.#content.length;
  }

  /** A row's number in a table: table 0 has the bytes of its text, 1 its cell bytes, 2 and up those of its sized columns. */
  number(table: number, row: number): number {
    return this.#content.readUInt32LE(4 * (table * this.#rows + row));
  }

  /** The sum over rows `from` to `to`. */
  sum(table: number, from: number, to: number): number {
    let sum = 0;
    for (let row = from; row < to; row += 1) sum += this.number(table, row);
    return sum;
  }

  /** Where a row's text begins in `bytes`. It ends one byte, the separator, before the next row's text. */
  start(row: number): number {
    return this.#text + this.sum(0, 0, row) + row;
  }

  /** The block's whole content. */
  get bytes(): Buffer {
    return this.#content;
  }

  /** The text of rows `from` to `to`, at least one. @param separator stands between two rows */
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
