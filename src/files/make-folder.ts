/**
 * Makes a folder, with those above it that are missing, for its owner alone unless told otherwise, and syncs each new name in the folder
 * that holds it: what is durable inside of a folder is lost with the folder's own name. Node's recursive `mkdir` is not used, since it never ends
 * where the system answers ENOENT for a folder whose parent is there (below /proc).
 */
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { hasCode } from '../errors/system-code.ts';

/** Deeper than any path that a system takes. */
const DEPTH_MAX = 4096;

/**
 * @param mode of those that it makes, less what the process's mask takes away
 * @throws the system's error, EEXIST where `path` is something else than a folder, ENOLINK where a link leads to nothing
 */
export async function makeFolder(path: string, mode = 0o700): Promise<void> {
  const missing: string[] = [];
  for (let folder = resolve(path); !(await isFolder(folder)); folder = dirname(folder)) {
    missing.push(folder);
    if (missing.length > DEPTH_MAX || folder === dirname(folder)) break;
  }
  for (const folder of missing.toReversed()) {
    try {
      await mkdir(folder, { mode });
    } catch (error) {
      // Another process made it at the same moment.
      if (!hasCode(error, 'EEXIST')) throw error;
      // What is there, and is not there when it is followed: the disk of the other end may not be mounted.
      if (!(await isFolder(folder))) throw failure('ENOLINK', `${folder} is a link to nothing`);
    }
    await syncFolder(dirname(folder));
  }
}

/** The names in a folder reach the disk. */
async function syncFolder(path: string): Promise<void> {
  await using handle = await open(path, 'r').catch((error: unknown) => {
    // A folder that may be written but not read, as drop boxes are, cannot be opened; its names reach the disk in time.
    if (hasCode(error, 'EACCES')) return undefined;
    throw error;
  });
  await handle?.sync();
}

/** False when there is nothing of that name. @throws EEXIST when it is something else */
async function isFolder(path: string): Promise<boolean> {
  try {
    if ((await stat(path)).isDirectory()) return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
  throw failure('EEXIST', `${path} is there and is no folder`);
}

function failure(code: string, problem: string): Error {
  return Object.assign(new Error(`${code}: ${problem}`), { code });
}
