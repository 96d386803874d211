/** Room for what the catalog writes, out of what can be had again. */
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isStorageFull } from '../errors/storage-full.ts';
import type { Observe } from '../observation/observation.ts';
import type { Service } from './service.ts';

/** For the catalog's log, which a commit makes longer, and those that follow. */
export const COMMIT_BYTES = 64_000_000;

/** Whether both lie on one disk. What goes from one disk makes no room on another. */
export async function isOnOneDisk(path: string, other: string): Promise<boolean> {
  return (await stat(path)).dev === (await stat(other)).dev;
}

/**
 * Makes room whenever something has failed on a full disk: a change, a tick of the schedule, counts of usage. All of these are tried
 * again, by the service or by whoever asked.
 */
export function roomAfterFaults({ room, directories: { reserve, data } }: Service): Observe {
  const make = async () => {
    // The reserve lies beside the catalog.
    if (await isOnOneDisk(dirname(reserve), data)) await room.make(COMMIT_BYTES);
  };
  return (observation) => {
    // Whoever tries again without it is told so.
    if (observation.kind === 'fault' && isStorageFull(observation.error)) make().catch(() => undefined);
  };
}
