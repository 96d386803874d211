/**
 * Joins several zstd frames into one. Node makes a decompressor for each call, which takes longer than unpacking a few
 * kilobytes. So the blocks of all frames are put into one frame. A block may depend on the state at the start of its own frame
 * (its repeat offsets), and then decodes to something else. Whoever unpacks a joined frame therefore compares a checksum of what
 * each frame should have given.
 */

/** Magic number, and the descriptor of a single segment with a content size of four bytes and no checksum. */
const MAGIC = [0x28, 0xb5, 0x2f, 0xfd, 0xa0] as const;
/** With the content size. A decoder that is told it needs no window of its own, and writes where the content is wanted. */
const HEADER_BYTES = MAGIC.length + 4;
/** A last block without bytes. */
const END = [1, 0, 0] as const;
/** Magic number and descriptor. */
const DESCRIPTOR_END = 5;
const CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const;
const RUN = 1;

/** Frames are joined here, over and over: it takes time to use memory for the first time. */
let memory = Buffer.allocUnsafeSlow(256 * 1024);

/**
 * @param frames each without checksum and dictionary
 * @param contentBytes of all of them
 * @returns the frame, until the next one is joined
 * @throws where they cannot be joined
 */
export function joinFrames(frames: readonly Uint8Array[], contentBytes: number): Buffer {
  const bytesMax = frames.reduce((sum, frame) => sum + frame.length, HEADER_BYTES + END.length);
  if (memory.length < bytesMax) memory = Buffer.allocUnsafeSlow(bytesMax);
  memory.set(MAGIC);
  let at = memory.writeUInt32LE(contentBytes, MAGIC.length);
  for (const frame of frames) {
    const blocks = frame.subarray(headerBytes(frame));
    memory.set(blocks, at);
    const last = at + lastBlock(blocks);
    memory[last] = (memory[last] ?? 0) & 0xfe;
    at += blocks.length;
  }
  memory.set(END, at);
  return memory.subarray(0, at + END.length);
}

function headerBytes(frame: Uint8Array): number {
  const descriptor = frame[DESCRIPTOR_END - 1] ?? 0;
  if ((descriptor & 7) !== 0) throw new Error('a frame has a checksum or a dictionary');
  const isSingle = (descriptor & 0x20) !== 0;
  const sizeBytes = CONTENT_SIZE_BYTES[descriptor >> 6] ?? 0;
  // A single-segment frame has no window, and a content size of at least one byte.
  return DESCRIPTOR_END + (isSingle ? Math.max(1, sizeBytes) : 1 + sizeBytes);
}

/** The place of the header of the last block. @param blocks all of a frame */
function lastBlock(blocks: Uint8Array): number {
  let block = 0;
  for (;;) {
    const header = (blocks[block] ?? 1) | ((blocks[block + 1] ?? 0) << 8) | ((blocks[block + 2] ?? 0) << 16);
    if ((header & 1) === 1) {
      if (block >= blocks.length) throw new Error('a frame has no last block');
      return block;
    }
    block += 3 + (((header >> 1) & 3) === RUN ? 1 : header >> 3);
  }
}
