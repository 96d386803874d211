/** Room for what the catalog writes, out of what can be had again. */
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isStorageFull } from '../errors/storage-full.ts';
import { withRoom } from '../files/disk-room.ts';
import type { ReadLeasesOptions } from '../leases/read-leases.ts';
import type { Observe } from '../observation/observation.ts';
import type { Service } from './service.ts';

/** Enough for what this commit and the next ones add to the catalog's log. */
const COMMIT_BYTES = 64_000_000;

/** Whether both lie on one disk: what is removed from one disk makes no room on another. */
export async function isOnOneDisk(path: string, other: string): Promise<boolean> {
  return (await stat(path)).dev === (await stat(other)).dev;
}

/** The reserve lies beside the catalog. */
async function isOnCatalogDisk({ directories: { reserve, data } }: Service): Promise<boolean> {
  return await isOnOneDisk(dirname(reserve), data);
}

/** Commits for somebody who waits: on a full disk room is made, and the commit is tried once more. */
export async function commitInRoom(service: Service): Promise<NonNullable<ReadLeasesOptions['inRoom']>> {
  const makesRoom = await isOnCatalogDisk(service);
  return async (work) => {
    try {
      return makesRoom ? await withRoom(service.room, work, COMMIT_BYTES) : await work();
    } catch (error) {
      if (!isStorageFull(error)) throw error;
      // SQLite does not say where.
      throw new Error(`${dirname(service.directories.reserve)} has no room for the catalog`, { cause: error });
    }
  };
}

/**
 * Makes room whenever something has failed on a full disk: a change, a tick of the schedule, counts of usage. All of these are tried
 * again, by the service or by whoever asked.
 */
export function roomAfterFaults(service: Service): Observe {
  const make = async () => {
    if (await isOnCatalogDisk(service)) await service.room.make(COMMIT_BYTES);
  };
  return (observation) => {
    // Where no room can be made, the next attempt fails as this one did, and is reported then.
    if (observation.kind === 'fault' && isStorageFull(observation.error)) make().catch(() => undefined);
  };
}
