/**
 * Unpacks blocks of a row file, several as one (joined-frames.ts). Each content's checksum is compared; a block that gave something
 * else among others is unpacked by itself.
 */
import { zstdDecompressSync } from 'node:zlib';
import { giveBack } from './give-back.ts';
import { joinFrames } from './joined-frames.ts';
import { SPARE_BYTES } from './row-block.ts';
import { blockCrc, RowFileDamaged } from './row-file-format.ts';

/** Contents that are unpacked as one: in half a millisecond. */
export const GROUP_BYTES_MAX = 512 * 1024;
/** After so many more groups that could not be unpacked as one than could, it is not tried again. */
const FAILURES_MAX = 8;

export interface StoredBlock {
  /** Of the file. */
  readonly number: number;
  readonly frame: Buffer;
  /** Of its content, from the index. */
  readonly bytes: number;
  readonly crc: number;
}

/** Blocks whose contents have still to be looked at one by one. */
export interface UnpackedGroup {
  readonly blocks: readonly StoredBlock[];
  /** All contents in a row, if the blocks could be unpacked as one. Memory of its own. */
  readonly contents: Buffer | undefined;
}

export class Unpacker {
  #failures = 0;

  /** @param blocks of which there is at least one, of at most `GROUP_BYTES_MAX` of contents, or a single one */
  unpack(blocks: readonly StoredBlock[]): UnpackedGroup {
    const [only] = blocks;
    try {
      if (only !== undefined && blocks.length === 1) return { blocks, contents: unpackFrame(only.frame, blocks) };
      if (this.#failures > FAILURES_MAX) return { blocks, contents: undefined };
      const frame = joinFrames(blocks.map((block) => block.frame));
      const contents = unpackFrame(frame, blocks);
      giveBack(frame);
      return { blocks, contents };
    } catch {
      return { blocks, contents: undefined };
    }
  }

  /** The content of each block. @throws RowFileDamaged */
  *contentsOf({ blocks, contents }: UnpackedGroup): Generator<readonly [block: StoredBlock, content: Buffer]> {
    let [at, wrong] = [0, 0];
    for (const block of blocks) {
      const joined = contents?.subarray(at, at + block.bytes);
      at += block.bytes;
      if (joined !== undefined && isWhole(block, joined)) {
        yield [block, joined];
        continue;
      }
      wrong += 1;
      yield [block, alone(block)];
    }
    if (blocks.length > 1) this.#failures = Math.max(0, this.#failures + (wrong > 0 ? 1 : -1));
  }
}

function alone(block: StoredBlock): Buffer {
  let content: Buffer;
  try {
    content = unpackFrame(block.frame, [block]);
  } catch (error) {
    throw new RowFileDamaged(`block ${block.number} is not what was written`, { cause: error });
  }
  if (!isWhole(block, content)) throw new RowFileDamaged(`block ${block.number} is not what was written`);
  return content;
}

function isWhole({ number, bytes, crc }: StoredBlock, content: Buffer): boolean {
  return content.length === bytes && blockCrc(content, number) === crc;
}

function unpackFrame(frame: Buffer, blocks: readonly StoredBlock[]): Buffer {
  const bytes = blocks.reduce((sum, block) => sum + block.bytes, SPARE_BYTES);
  // Damaged frames may say that they hold gigabytes.
  return zstdDecompressSync(frame, { chunkSize: bytes, maxOutputLength: bytes });
}
