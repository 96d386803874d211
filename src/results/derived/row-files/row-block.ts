/** Packs a block of a row file (row-file-format.ts), and the rows of a block as they are read back. */
import { packNumbers, type RowNumbers } from './row-numbers.ts';
import { type Packing, zstd } from './zstd.ts';

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
  packing: Packing,
): PackedBlock {
  return { numbers: packNumbers(tables, from, to), frame: zstd.compress(text, packing) };
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
