/**
 * The right to refresh one dataset. A lease that its owner no longer renews, or whose owner is known to be dead, is abandoned:
 * exactly one process reclaims it and owes the refresh that was left.
 */
import { KeptLease, type LeaseOptions } from './kept-lease.ts';

export interface RefreshLeaseOptions extends LeaseOptions {
  /** True only when the process of that name is certainly gone: its leases need not run out first. */
  readonly isLeaseOwnerDead: (owner: string) => boolean;
}

const PREFIX = 'refresh:';

/** The datasets whose refresh was abandoned, each named to one process only. */
export async function reclaimAbandoned(options: RefreshLeaseOptions): Promise<readonly string[]> {
  const { catalog, clock, isLeaseOwnerDead } = options;
  const reclaimed: string[] = [];
  for (const lease of await catalog.leases.list(PREFIX)) {
    const abandoned = lease.expiresAt <= clock() || isLeaseOwnerDead(lease.owner);
    if (abandoned && (await catalog.leases.revoke(lease))) reclaimed.push(lease.resource.slice(PREFIX.length));
  }
  return reclaimed;
}

/** The lease, or undefined while another process (or another task of this one) refreshes the dataset. */
export async function acquireRefreshLease(dataset: string, options: LeaseOptions): Promise<KeptLease | undefined> {
  return await KeptLease.acquire(`${PREFIX}${dataset}`, { during: 'during the refresh' }, options);
}
