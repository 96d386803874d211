/**
 * Joins several zstd frames into one. Node makes a decompressor for each call, which takes longer than unpacking a few
 * kilobytes. So the blocks of all frames are put into one frame. A block may depend on the state at the start of its own frame
 * (its repeat offsets), and then decodes to something else. Whoever unpacks a joined frame therefore compares a checksum of what
 * each frame should have given.
 */

/** Magic number, no content size, no checksum, a window of 512 KiB. */
const HEADER = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x48]);
/** A last block without bytes. */
const END = Buffer.from([1, 0, 0]);
/** Magic number and descriptor. */
const DESCRIPTOR_END = 5;
const CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const;
const RUN = 1;

/** @param frames each without checksum and dictionary, together of at most 512 KiB of contents @throws where they cannot be joined */
export function joinFrames(frames: readonly Uint8Array[]): Buffer {
  const joined = Buffer.concat([HEADER, ...frames.map(blocksOf), END]);
  let at = HEADER.length;
  for (const frame of frames) {
    const last = lastBlock(joined, at);
    joined[last] = (joined[last] ?? 0) & 0xfe;
    at += frame.length - headerBytes(frame);
  }
  return joined;
}

function blocksOf(frame: Uint8Array): Uint8Array {
  return frame.subarray(headerBytes(frame));
}

function headerBytes(frame: Uint8Array): number {
  const descriptor = frame[DESCRIPTOR_END - 1] ?? 0;
  if ((descriptor & 7) !== 0) throw new Error('a frame has a checksum or a dictionary');
  const isSingle = (descriptor & 0x20) !== 0;
  const sizeBytes = CONTENT_SIZE_BYTES[descriptor >> 6] ?? 0;
  // A single-segment frame has no window, and a content size of at least one byte.
  return DESCRIPTOR_END + (isSingle ? Math.max(1, sizeBytes) : 1 + sizeBytes);
}

/** The place of the header of the frame's last block. @param at where the frame's first block begins */
function lastBlock(bytes: Uint8Array, at: number): number {
  let block = at;
  for (;;) {
    const header = (bytes[block] ?? 1) | ((bytes[block + 1] ?? 0) << 8) | ((bytes[block + 2] ?? 0) << 16);
    if ((header & 1) === 1) return block;
    block += 3 + (((header >> 1) & 3) === RUN ? 1 : header >> 3);
  }
}
