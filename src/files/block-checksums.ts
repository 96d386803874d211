/** The hashes of a part's blocks: made when it is written, compared when it is read. */
import { createHash, type Hash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { BLOCK_HASH_BYTES, type Block, type Blocks, hashedBefore, listBlocks } from '../domain/blocks.ts';
import { type Checksum, hashStretch, newChunk } from './checksum.ts';

type Layout = Pick<Blocks, 'rows' | 'bytes'>;

/** Checksum of the whole file and hashes of its blocks, with one reading. @throws the signal's reason, or the filesystem's error */
export async function checksumWithBlocks(
  path: string,
  layout: Layout,
  signal: AbortSignal,
): Promise<Checksum & { readonly blocks: Blocks }> {
  await using handle = await open(path, 'r');
  const whole = createHash('sha256');
  const chunk = newChunk(Math.max(...layout.bytes));
  const hashes: Buffer[] = [];
  let bytes = 0;
  for (const block of listBlocks({ ...layout, hashes: '' })) {
    const hash = beginHash(layout, block);
    bytes += await hashStretch(handle, block, [whole, hash], chunk, signal);
    hashes.push(endHash(hash));
  }
  return {
    sha256: whole.digest('hex'),
    bytes,
    blocks: { ...layout, hashes: Buffer.concat(hashes).toString('base64') },
  };
}

/** Whether the block's bytes are those that were written. @throws the signal's reason, or the filesystem's error */
export async function isBlockIntact(
  handle: FileHandle,
  blocks: Blocks,
  block: Block,
  chunk: Uint8Array,
  signal: AbortSignal,
): Promise<boolean> {
  const hash = beginHash(blocks, block);
  const bytes = await hashStretch(handle, block, [hash], chunk, signal);
  return bytes === block.bytes && endHash(hash).equals(expectedHash(blocks, block));
}

/** Bytes that come one after another, compared with a hash when all have come. */
export interface BlockHasher {
  update(bytes: Uint8Array): void;
  isIntact(): boolean;
}

/** Of the block with this place. */
export function blockHasher(blocks: Blocks, index: number): BlockHasher {
  const block = listBlocks(blocks)[index];
  if (block === undefined) throw new RangeError(`there is no block ${index}`);
  const hash = beginHash(blocks, block);
  return {
    update: (bytes) => void hash.update(bytes),
    isIntact: () => endHash(hash).equals(expectedHash(blocks, block)),
  };
}

/** Of all bytes of an object. */
export function wholeHasher(sha256: string): BlockHasher {
  const hash = createHash('sha256');
  return { update: (bytes) => void hash.update(bytes), isIntact: () => hash.digest('hex') === sha256 };
}

function expectedHash({ hashes }: Blocks, { index }: Block): Buffer {
  const start = index * BLOCK_HASH_BYTES;
  return Buffer.from(hashes, 'base64').subarray(start, start + BLOCK_HASH_BYTES);
}

function beginHash(layout: Layout, block: Block): Hash {
  return createHash('sha256').update(hashedBefore(layout, block));
}

function endHash(hash: Hash): Buffer {
  return hash.digest().subarray(0, BLOCK_HASH_BYTES);
}
