/** Unpacks blocks of a row file, and compares their checksums. */
import { blockCrc, RowFileDamaged } from './row-file-format.ts';
import type { RowNumbers } from './row-numbers.ts';
import { zstd } from './zstd.ts';

/** What is unpacked in one go, in at most a sixth of a millisecond. So much text is 50 to 90 KB in the file, which are read without another thread (decision 22). */
export const GROUP_BYTES_MAX = 160 * 1024;

export interface StoredBlock {
  /** Of the file. */
  readonly number: number;
  readonly rows: number;
  readonly numbers: RowNumbers;
  readonly frame: Uint8Array;
  /** Of its text, from the index. */
  readonly bytes: number;
  readonly crc: number;
}

/**
 * @param blocks of at most `GROUP_BYTES_MAX` of text, or a single one
 * @returns the text of all blocks, one after another, in memory of its own
 * @throws RowFileDamaged
 */
export function unpackBlocks(blocks: readonly StoredBlock[]): Buffer {
  const text = Buffer.allocUnsafeSlow(blocks.reduce((sum, block) => sum + block.bytes, 0));
  let at = 0;
  for (const block of blocks) {
    unpackInto(text.subarray(at, at + block.bytes), block);
    at += block.bytes;
  }
  return text;
}

function unpackInto(text: Buffer, { number, numbers, frame, crc }: StoredBlock): void {
  if (blockCrc(number, numbers.bytes, frame) === crc && zstd.decompress(frame, text)) return;
  throw new RowFileDamaged(`block ${number} is not what was written`);
}
