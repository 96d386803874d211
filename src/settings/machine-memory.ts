/** How much memory there is for this process and its like: that of the machine, or of the cgroup (the container) where it has less. */
import { totalmem } from 'node:os';

/** In bytes. */
export function machineMemory(): number {
  // 0, or a number beyond all memory, where nothing limits the process.
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
