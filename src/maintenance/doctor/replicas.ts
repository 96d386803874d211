/** Names the replicas that run, and those that died without saying so. */
import type { Catalog, SeenReplica } from '../../catalog/catalog.ts';
import { counted } from '../../domain/counted.ts';
import { DAY_MILLIS } from '../../domain/instant.ts';
import { LIVE_MILLIS } from '../../domain/replica.ts';
import { requestIdPrefix } from '../../replicas/request-id-prefix.ts';
import type { Finding } from './finding.ts';

const NAMED_MAX = 20;

export async function examineReplicas({ replicas }: Pick<Catalog, 'replicas'>): Promise<Finding> {
  const check = 'replicas';
  const live = await replicas.list(LIVE_MILLIS);
  const seen = await replicas.list(DAY_MILLIS);
  const died = seen.filter(({ id }) => !live.some((other) => other.id === id));
  const named = live.slice(0, NAMED_MAX).map(describe).join(', ');
  const found = live.length === 0 ? 'none runs' : `${counted(live.length, 'replica')} running: ${named}`;
  if (died.length === 0) return { check, status: 'ok', found };
  return {
    check,
    status: 'warning',
    found: `${found}; ended without saying so within a day: ${died.slice(0, NAMED_MAX).map(describe).join(', ')}`,
    advice: 'look into their logs: they were killed, or their host went away',
  };
}

function describe({ name, version }: SeenReplica): string {
  return `${name} (${version}, request ids ${requestIdPrefix(name)}…)`;
}
