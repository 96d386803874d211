/**
 * Unpacks blocks of a row file, several as one (joined-frames.ts). The checksum of each is compared; a block that gave something else
 * among others is unpacked by itself.
 */
import { zstdDecompressSync } from 'node:zlib';
import { joinFrames } from './joined-frames.ts';
import { SPARE_BYTES } from './row-block.ts';
import { blockCrc, RowFileDamaged } from './row-file-format.ts';
import type { RowNumbers } from './row-numbers.ts';

/** Texts that are unpacked as one: in half a millisecond. */
export const GROUP_BYTES_MAX = 512 * 1024;
/** After so many more groups that could not be unpacked as one than could, it is not tried again. */
const FAILURES_MAX = 8;

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

export class Unpacker {
  #failures = 0;

  /**
   * @param blocks at least one, of at most `GROUP_BYTES_MAX` of text, or a single one
   * @returns the text of all blocks, one after another, in memory of its own
   * @throws RowFileDamaged
   */
  unpack(blocks: readonly StoredBlock[]): Buffer {
    const [only] = blocks;
    if (only !== undefined && blocks.length === 1) return alone(only);
    const joined = this.#failures > FAILURES_MAX ? undefined : tryJoined(blocks);
    const text = joined ?? Buffer.allocUnsafeSlow(bytesOf(blocks));
    let [at, wrong] = [0, 0];
    for (const block of blocks) {
      if (joined === undefined || !isWhole(block, text.subarray(at, at + block.bytes))) {
        wrong += 1;
        alone(block).copy(text, at);
      }
      at += block.bytes;
    }
    this.#failures = Math.max(0, this.#failures + (wrong > 0 ? 1 : -1));
    return text;
  }
}

/** What the blocks give as one, right or not; undefined where they give nothing, or another number of bytes. */
function tryJoined(blocks: readonly StoredBlock[]): Buffer | undefined {
  const bytes = bytesOf(blocks);
  try {
    const text = unpackFrame(
      joinFrames(
        blocks.map(({ frame }) => frame),
        bytes,
      ),
      bytes,
    );
    return text.length === bytes ? text : undefined;
  } catch {
    return undefined;
  }
}

function alone(block: StoredBlock): Buffer {
  let text: Buffer;
  try {
    text = unpackFrame(block.frame, block.bytes);
  } catch (error) {
    throw new RowFileDamaged(`block ${block.number} is not what was written`, { cause: error });
  }
  if (!isWhole(block, text)) throw new RowFileDamaged(`block ${block.number} is not what was written`);
  return text;
}

function isWhole({ number, numbers, bytes, crc }: StoredBlock, text: Buffer): boolean {
  return text.length === bytes && blockCrc(number, numbers.bytes, text) === crc;
}

function bytesOf(blocks: readonly StoredBlock[]): number {
  return blocks.reduce((sum, block) => sum + block.bytes, 0);
}

/** Damaged frames may say that they hold gigabytes. */
function unpackFrame(frame: Uint8Array, bytes: number): Buffer {
  const bytesMax = bytes + SPARE_BYTES;
  return zstdDecompressSync(frame, { chunkSize: bytesMax, maxOutputLength: bytesMax });
}
