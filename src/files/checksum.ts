/** The checksum of a file's bytes, read in chunks so that neither memory nor the event loop feels a large one. */
import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';

/** While a chunk is hashed nothing else runs, so it is small. */
const CHUNK_BYTES = 1024 * 1024;

export interface Checksum {
  /** Lower-case hex SHA-256. */
  readonly sha256: string;
  readonly bytes: number;
}

/** @throws the signal's reason, or the filesystem's error. */
export async function checksumOf(path: string, signal: AbortSignal): Promise<Checksum> {
  const handle = await open(path, 'r');
  try {
    return await checksumOfOpen(handle, signal);
  } finally {
    await handle.close();
  }
}

export async function checksumOfOpen(handle: FileHandle, signal: AbortSignal): Promise<Checksum> {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let bytes = 0;
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, bytes);
    if (bytesRead === 0) return { sha256: hash.digest('hex'), bytes };
    hash.update(chunk.subarray(0, bytesRead));
    bytes += bytesRead;
  }
}
