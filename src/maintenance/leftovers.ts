/** Leftovers on the disks of this host: what dead writers staged, and what was made from results that are gone. */
import type { Dirent } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import { LEASE_KINDS } from '../domain/lease-names.ts';
import { letOthersRun } from '../domain/time.ts';
import { executionOfDerived, isStagingName, stagingName } from '../domain/written-names.ts';
import { isMissing } from '../errors/system-code.ts';
import type { Undeleted } from './undeleted.ts';

export interface LeftoversDependencies {
  readonly catalog: Pick<Catalog, 'executions' | 'leases'>;
  readonly stagingDirectory: string;
  /** Files that were made from results. */
  readonly derivedDirectory: string;
}

/** Deletes the staging folders of writers whose leases have ended. @returns how many, and their bytes */
export async function deleteStaged(
  { catalog, stagingDirectory }: LeftoversDependencies,
  undeleted: Undeleted,
  signal: AbortSignal,
): Promise<{ readonly folders: number; readonly bytes: number }> {
  const folderNames = (await undeleted.attempt(() => foldersIn(stagingDirectory), signal)) ?? [];
  const staged = folderNames.filter(isStagingName);
  const leases = await catalog.leases.list(LEASE_KINDS.write);
  let folders = 0;
  let bytes = 0;
  for (const name of staged) {
    signal.throwIfAborted();
    if (leases.some((lease) => stagingName(lease) === name)) continue;
    const path = join(stagingDirectory, name);
    const freed = await undeleted.attempt(async () => {
      const found = await bytesBelow(path);
      await rm(path, { recursive: true, force: true });
      return found;
    }, signal);
    if (freed === undefined) continue;
    bytes += freed;
    folders += 1;
  }
  return { folders, bytes };
}

/** What was made from results that are gone. A reader that has such a file open goes on reading it. @returns bytes */
export async function deleteDerived(
  { catalog, derivedDirectory }: LeftoversDependencies,
  undeleted: Undeleted,
  signal: AbortSignal,
): Promise<number> {
  let bytes = 0;
  for (const entry of (await undeleted.attempt(() => entriesOf(derivedDirectory), signal)) ?? []) {
    await letOthersRun();
    signal.throwIfAborted();
    const { name } = entry;
    const executionId = entry.isFile() ? executionOfDerived(name) : undefined;
    if (executionId === undefined || (await catalog.executions.findResultSet(executionId)) !== undefined) continue;
    const path = join(derivedDirectory, name);
    const freed = await undeleted.attempt(async () => {
      const found = (await lstat(path).catch(() => undefined))?.size ?? 0;
      await rm(path, { force: true });
      return found;
    }, signal);
    bytes += freed ?? 0;
  }
  return bytes;
}

async function foldersIn(folder: string): Promise<readonly string[]> {
  return (await entriesOf(folder)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

async function bytesBelow(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name);
    bytes += entry.isDirectory() ? await bytesBelow(path) : ((await lstat(path).catch(() => undefined))?.size ?? 0);
  }
  return bytes;
}
