/** Packs a block of a row file (row-file-format.ts), and the rows of a block as they are read back. */
import { constants, zstdCompressSync } from 'node:zlib';
import { packNumbers, type RowNumbers } from './row-numbers.ts';

const CHUNK_BYTES_MIN = 1024;
/** Level 3 is both larger and slower for texts of a few kilobytes. */
const LEVEL_1 = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
/** With an output buffer of just the right size zlib would be called once more, only to find that nothing is left. */
export const SPARE_BYTES = 64;
/** Unpacking more in one go would hold up other requests. A part with wider rows is read by DuckDB. */
export const BLOCK_BYTES_MAX = 2 * 1024 * 1024;

/** After each row of a block's text. */
export const COMMA = 0x2c;

export interface PackedBlock {
  readonly numbers: Buffer;
  /** The text, compressed. */
  readonly frame: Buffer;
}

/** @param tables numbers of rows, of which `from` to `to` are the block's @param text of the block's rows, with a comma after each */
export function packBlock(
  tables: readonly ArrayLike<number>[],
  from: number,
  to: number,
  text: Uint8Array,
): PackedBlock {
  // Nearly always there is room for all of it. An output buffer as large as the text would take a fifth of the time of packing.
  const chunkSize = Math.max(CHUNK_BYTES_MIN, text.length >> 1);
  const frame = zstdCompressSync(text, { ...LEVEL_1, chunkSize });
  return { numbers: packNumbers(tables, from, to), frame };
}

/** Some rows of a block that has been unpacked and checked. */
export interface BlockRows {
  /** The text of this block, and of others. */
  readonly text: Buffer;
  /** Where the block's text begins. */
  readonly start: number;
  readonly numbers: RowNumbers;
  /** Counted within the block. */
  readonly from: number;
  readonly to: number;
}
