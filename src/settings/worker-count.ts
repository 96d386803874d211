/** How many processes `qrs serve` is. */
import { availableParallelism } from 'node:os';
import type { Settings } from './settings.ts';

export function workerCount({ workers }: Pick<Settings, 'workers'>): number {
  return workers === 'auto' ? availableParallelism() : workers;
}
