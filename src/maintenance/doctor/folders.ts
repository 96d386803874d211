/** Looks at the folders that the service writes to: whether it can, and how much room is left. */
import { rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Directories } from '../../compose/service.ts';
import { folderFailure } from '../../errors/startup-error.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { SETTINGS } from '../../settings/settings.ts';
import { type Finding, wrong } from './finding.ts';

/** With less than this nothing of size can be published, and DuckDB has no room to spill into. */
const WRONG_BELOW_BYTES = 200e6;
const WARNING_BELOW_BYTES = 5e9;

/** @param nonce makes the name of the file that is written and removed this process's own */
export async function* examineFolders(directories: Directories, nonce: string): AsyncGenerator<Finding> {
  yield await examineFolder('data directory', directories.data, SETTINGS.dataDir.name, nonce);
  yield await examineFolder('results', directories.results, SETTINGS.store.name, nonce);
  yield await examineFolder('temporary files', directories.temp, SETTINGS.dataDir.name, nonce);
  yield await examineFolder('views', directories.views, SETTINGS.dataDir.name, nonce);
  yield await examineFolder('derived files', directories.derived, SETTINGS.dataDir.name, nonce);
}

async function examineFolder(check: string, path: string, setting: string, nonce: string): Promise<Finding> {
  const probe = join(path, `.doctor-${nonce}`);
  try {
    await makeFolder(path);
    await writeFile(probe, 'written to see whether it can be\n');
    await rm(probe, { force: true });
    const { bavail, bsize } = await statfs(path);
    return roomFinding(check, path, bavail * bsize, setting);
  } catch (error) {
    await rm(probe, { force: true }).catch(() => undefined);
    return wrong(check, folderFailure(error, path, setting));
  }
}

export function roomFinding(check: string, path: string, freeBytes: number, setting: string): Finding {
  const found = `${path} is writable, ${(freeBytes / 1e9).toFixed(1)} GB free`;
  if (freeBytes >= WARNING_BELOW_BYTES) return { check, status: 'ok', found };
  const advice = `free some space (\`qrs sweep\` deletes what has expired), or set ${setting} to a larger disk`;
  return { check, status: freeBytes < WRONG_BELOW_BYTES ? 'wrong' : 'warning', found, advice };
}
