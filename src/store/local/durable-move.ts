/**
 * Moves a file so that a power cut leaves either no file or the whole file at its new place: the bytes reach the disk before
 * the name, and the name before this resolves.
 */
import { copyFile, link, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../../errors/system-code.ts';
import { syncPath } from '../../files/sync-path.ts';

/** A folder emptied by somebody else may vanish between making it and moving into it; this often we make it again. */
const ATTEMPTS_MAX = 5;

export interface MoveOptions {
  /** Whether a file that is at the new place already makes way. */
  readonly mayReplace: boolean;
}

/** What filesystems say that have no hard links, such as FAT and some over a network. */
const NO_LINKS: ReadonlySet<unknown> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * @param root an existing folder above `to`; the folders between are made, and synced up to it
 * @returns false when another file is there that may not be replaced: then nothing was moved
 */
export async function moveDurably(
  from: string,
  to: string,
  root: string,
  { mayReplace }: MoveOptions,
  signal: AbortSignal,
): Promise<boolean> {
  signal.throwIfAborted();
  await syncPath(from);
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    try {
      await mkdir(dirname(to), { recursive: true });
      if (!(await move(from, to, mayReplace ? replace : place))) return false;
      for (let folder = dirname(to); folder.startsWith(root); folder = dirname(folder)) {
        await syncPath(folder);
        if (folder === root) break;
      }
      return true;
    } catch (error) {
      const folderVanished = codeOf(error) === 'ENOENT' && attempt < ATTEMPTS_MAX && (await exists(from));
      if (!folderVanished) throw error;
    }
  }
}

/** From one name to another on the same filesystem. @returns false when the other is taken */
type Rename = (from: string, to: string) => Promise<boolean>;

async function move(from: string, to: string, toName: Rename): Promise<boolean> {
  try {
    return await toName(from, to);
  } catch (error) {
    if (codeOf(error) !== 'EXDEV') throw error;
  }
  // Another filesystem: the copy gets its own name first, so that the object is never seen half written.
  const partial = `${to}.partial`;
  try {
    await copyFile(from, partial);
    await syncPath(partial);
    if (!(await toName(partial, to))) return false;
  } finally {
    await rm(partial, { force: true });
  }
  await rm(from, { force: true });
  return true;
}

async function replace(from: string, to: string): Promise<boolean> {
  await rename(from, to);
  return true;
}

/** A rename would replace what is there; a second name cannot be given to a place that is taken. */
async function place(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    if (!NO_LINKS.has(codeOf(error))) throw error;
    if (await exists(to)) return false;
    return await replace(from, to);
  }
  await rm(from);
  return true;
}

async function exists(path: string): Promise<boolean> {
  try {
    await (await open(path, 'r')).close();
    return true;
  } catch {
    return false;
  }
}
