/** For a put that finds its key taken: an attempt before it may have arrived although its answer was lost. */
import { open } from 'node:fs/promises';
import { checksumOfOpen } from '../files/checksum.ts';
import { ObjectDamaged, ObjectExists, type ResultStore } from './result-store.ts';

/** @throws ObjectExists when the object has other bytes than the file, ObjectDamaged when it is gone; else as `verify` */
export async function requireSameBytes(
  store: Pick<ResultStore, 'verify'>,
  key: string,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  await using file = await open(path, 'r');
  const { sha256, bytes } = await checksumOfOpen(file, signal);
  try {
    await store.verify({ key, objectBytes: bytes, sha256 }, signal);
  } catch (error) {
    if (!(error instanceof ObjectDamaged) || error.isMissing) throw error;
    throw new ObjectExists(key);
  }
}
