/** Checksums of a file's bytes, read in chunks so that neither memory nor the event loop feels a large one. */
import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';

/** While a chunk is hashed nothing else runs, for about a millisecond. */
const CHUNK_BYTES = 1024 * 1024;

export interface Checksum {
  /** Lower-case hex SHA-256. */
  readonly sha256: string;
  readonly bytes: number;
}

/** Bytes of a file, and where they are. */
export interface Stretch {
  readonly offset: number;
  readonly bytes: number;
}

/** Of all bytes of a file. @throws the signal's reason, or the filesystem's error */
export async function checksumOfOpen(handle: FileHandle, signal: AbortSignal): Promise<Checksum> {
  const hash = createHash('sha256');
  const everything = { offset: 0, bytes: Number.POSITIVE_INFINITY };
  const bytes = await hashStretch(handle, everything, [hash], newChunk(), signal);
  return { sha256: hash.digest('hex'), bytes };
}

/**
 * @param bytesMax no more is read at a time: large buffers for small files make the garbage collector look through everything, again
 *   and again
 */
export function newChunk(bytesMax = CHUNK_BYTES): Uint8Array {
  return Buffer.allocUnsafe(Math.max(1, Math.min(CHUNK_BYTES, bytesMax)));
}

/**
 * Adds the bytes of a stretch to each of the hashes.
 * @param chunk room for the bytes, from `newChunk`; a new one for each stretch would take as long as the hashing
 * @returns how many bytes were there, fewer where the file ends before
 * @throws the signal's reason, or the filesystem's error
 */
export async function hashStretch(
  handle: FileHandle,
  { offset, bytes }: Stretch,
  hashes: readonly Hash[],
  chunk: Uint8Array,
  signal: AbortSignal,
): Promise<number> {
  let done = 0;
  while (done < bytes) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(chunk, 0, Math.min(chunk.length, bytes - done), offset + done);
    if (bytesRead === 0) break;
    for (const hash of hashes) hash.update(chunk.subarray(0, bytesRead));
    done += bytesRead;
  }
  return done;
}
