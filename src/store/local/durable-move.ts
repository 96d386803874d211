/**
 * Moves a file so that a power cut leaves either no file or the whole file at its new place: the bytes reach the disk before
 * the name, and the name before this resolves.
 */
import { copyFile, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A folder emptied by somebody else may vanish between making it and moving into it; this often we make it again. */
const ATTEMPTS_MAX = 5;

/**
 * @param root an existing folder above `to`; the folders between are made, and synced up to it
 */
export async function moveDurably(from: string, to: string, root: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await sync(from);
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    try {
      await mkdir(dirname(to), { recursive: true });
      await move(from, to);
      for (let folder = dirname(to); folder.startsWith(root); folder = dirname(folder)) {
        await sync(folder);
        if (folder === root) break;
      }
      return;
    } catch (error) {
      const folderVanished = codeOf(error) === 'ENOENT' && attempt < ATTEMPTS_MAX && (await exists(from));
      if (!folderVanished) throw error;
    }
  }
}

async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (codeOf(error) !== 'EXDEV') throw error;
    // Another filesystem: the copy gets its own name first, so that the object is never seen half written.
    const partial = `${to}.partial`;
    try {
      await copyFile(from, partial);
      await sync(partial);
      await rename(partial, to);
    } catch (failure) {
      await rm(partial, { force: true });
      throw failure;
    }
    await rm(from, { force: true });
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await (await open(path, 'r')).close();
    return true;
  } catch {
    return false;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
