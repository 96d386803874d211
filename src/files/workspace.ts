/** Folders that the service makes for its work while it runs. Somebody may clear or lock them, or put something else in their places. */
import { lstat, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { folderProblem } from '../errors/startup-error.ts';
import { isStorageFull } from '../errors/storage-full.ts';
import { MadeIsGone, WorkspaceUnavailable } from '../errors/workspace-unavailable.ts';

/**
 * Makes the folder, with those above it that are missing, for its owner alone.
 * @throws WorkspaceUnavailable that names what is in the way; the system's error where nothing is, as on a full disk
 */
export async function makeWorkspace(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw await folderUnusable(folder, error);
  }
}

/** The error of whoever could not write to the folder, as one that names what is in the way; the same one where nothing is. */
export async function folderUnusable(folder: string, error: unknown): Promise<unknown> {
  if (isStorageFull(error)) return error;
  const problem = folderProblem(error, await nearestOf(folder));
  return problem === undefined ? error : new WorkspaceUnavailable(problem, { cause: error });
}

/** Why the work in a folder that was made for it has failed: the same error, unless the folder is gone. */
export async function workspaceFailure(folder: string, error: unknown): Promise<unknown> {
  if ((await nearestOf(folder)) === folder) return error;
  return new MadeIsGone(`${folder} was removed while it was used`, { cause: error });
}

/** The path, or the lowest above it, where there is something. */
async function nearestOf(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    const found = await lstat(at).catch(() => undefined);
    if (found !== undefined || at === dirname(at)) return at;
  }
}
