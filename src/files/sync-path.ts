/** Brings what is at a path to the disk, so that a power cut does not lose it: the bytes of a file, or the names in a folder. */
import { open } from 'node:fs/promises';

/** @throws the filesystem's error */
export async function syncPath(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}
