/**
 * Superseded results of a dataset: the latest `keep` stay, older ones are made to expire before their time, so that 96 refreshes a
 * day do not fill the disk. Never one that somebody is reading. The sweep deletes them, which knows when that is safe.
 */
import type { Catalog } from '../catalog/catalog.ts';
import { stateAt } from '../domain/execution.ts';
import type { Instant } from '../domain/instant.ts';
import { readResources } from '../domain/lease-names.ts';

/** At most this many are expired in one call; the next refresh goes on. */
const STEP = 100;

/** @returns the ids of the executions that expired, newest first. */
export async function pruneSuperseded(
  queryId: number,
  keep: number,
  { catalog, now }: { readonly catalog: Pick<Catalog, 'executions' | 'leases'>; readonly now: Instant },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const limit = keep + STEP;
  const state = ['COMPLETED', 'COMPLETED_PARTIAL'] as const;
  const newestFirst = await catalog.executions.list({ queryId, state, limit });
  const kept = newestFirst.filter((execution) => stateAt(execution, now) !== 'EXPIRED');
  const pruned: string[] = [];
  for (const { id } of kept.slice(keep)) {
    signal.throwIfAborted();
    // A lease past its time counts too: its owner may renew it yet. The sweep ends those of the dead.
    if ((await catalog.leases.list(readResources(id))).length > 0) continue;
    await catalog.executions.expireAt(id, now);
    pruned.push(id);
  }
  return pruned;
}
