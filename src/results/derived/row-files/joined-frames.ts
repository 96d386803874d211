/**
 * Several zstd frames unpacked as one: making a decompressor takes longer than unpacking a few kilobytes, and Node makes one for each call. The
 * blocks of the frames are put behind one another in a frame of their own. A block may lean on what a frame begins with (its repeat offsets),
 * so that it means something else there: frames are read in this way only where it has been seen, when they were written, that just these,
 * joined, give just what each gives by itself.
 */
import { zstdDecompressSync } from 'node:zlib';

/** Magic number; no content size, no checksum; a window of 512 KiB. */
const HEADER = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x48]);
/** A last block without bytes. */
const END = Buffer.from([1, 0, 0]);
/** Magic number and descriptor. */
const DESCRIPTOR_END = 5;
const CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const;
const RUN = 1;
const SPARE_BYTES = 64;

/** @param frames each with neither checksum nor dictionary @param bytes of all they hold @throws where they cannot be joined */
export function unpackJoined(frames: readonly Uint8Array[], bytes: number): Buffer {
  const joined = Buffer.concat([HEADER, ...frames.map(blocksOf), END]);
  let at = HEADER.length;
  for (const frame of frames) {
    const last = lastBlock(joined, at);
    joined[last] = (joined[last] ?? 0) & 0xfe;
    at += frame.length - headerBytes(frame);
  }
  return zstdDecompressSync(joined, { chunkSize: bytes + SPARE_BYTES });
}

function blocksOf(frame: Uint8Array): Uint8Array {
  return frame.subarray(headerBytes(frame));
}

function headerBytes(frame: Uint8Array): number {
  const descriptor = frame[DESCRIPTOR_END - 1] ?? 0;
  if ((descriptor & 7) !== 0) throw new Error('a frame has a checksum or a dictionary');
  const isSingle = (descriptor & 0x20) !== 0;
  const sizeBytes = CONTENT_SIZE_BYTES[descriptor >> 6] ?? 0;
  // A single segment has no window, and a size of one byte at least.
  return DESCRIPTOR_END + (isSingle ? Math.max(1, sizeBytes) : 1 + sizeBytes);
}

/** Where the header of the last of the blocks stands that begin at `at`. */
function lastBlock(bytes: Uint8Array, at: number): number {
  let block = at;
  for (;;) {
    const header = (bytes[block] ?? 1) | ((bytes[block + 1] ?? 0) << 8) | ((bytes[block + 2] ?? 0) << 16);
    if ((header & 1) === 1) return block;
    block += 3 + (((header >> 1) & 3) === RUN ? 1 : header >> 3);
  }
}
