/**
 * Superseded results of a dataset: the latest `keep` stay, older ones are expired before their time, so that 96 refreshes a
 * day do not fill the disk. Never one that somebody is reading. Expired here, a result only leaves the catalog; its bytes go
 * with the next sweep, which knows when that is safe.
 */
import { type Catalog, IllegalTransition } from '../catalog/catalog.ts';

/** At most this many are expired in one call; the next refresh goes on. */
const STEP = 100;

/** @returns the ids of the executions that were expired, newest first. */
export async function pruneSuperseded(
  queryId: number,
  keep: number,
  catalog: Pick<Catalog, 'executions' | 'leases'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const limit = keep + STEP;
  const state = ['COMPLETED', 'COMPLETED_PARTIAL'] as const;
  const newestFirst = await catalog.executions.list({ queryId, state, limit });
  const pruned: string[] = [];
  for (const { id } of newestFirst.slice(keep, limit)) {
    signal.throwIfAborted();
    // A lease past its time counts too: its owner may renew it yet. The sweep ends those of the dead.
    if ((await catalog.leases.list(`read:${id}:`)).length > 0) continue;
    try {
      await catalog.executions.expire(id);
      pruned.push(id);
    } catch (error) {
      // The sweep was quicker.
      if (!(error instanceof IllegalTransition)) throw error;
    }
  }
  return pruned;
}
