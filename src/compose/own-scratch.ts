/** Scratch folders in the data directory. What cannot be made is said as everything else that keeps the service from starting. */
import { folderFailure } from '../errors/startup-error.ts';
import { makeScratchFolder, type ScratchFolder } from '../files/scratch-folder.ts';
import { SETTINGS } from '../settings/settings.ts';

/** @throws StartupError where there is something else in its place, or nothing can be written to it */
export async function makeOwnScratch(parent: string): Promise<ScratchFolder> {
  try {
    return await makeScratchFolder(parent);
  } catch (error) {
    throw folderFailure(error, parent, SETTINGS.dataDir.name);
  }
}
