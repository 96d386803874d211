/** Looks for leases whose owners are gone: what publishers and readers that were killed left behind. */
import type { Catalog } from '../../catalog/catalog.ts';
import { isLeaseOwnerDead } from '../../leases/lease-owner.ts';
import type { Finding } from './finding.ts';

export async function examineLeases(catalog: Pick<Catalog, 'leases' | 'now'>): Promise<Finding> {
  const check = 'leases';
  const [all, now] = [await catalog.leases.list(''), await catalog.now()];
  const left = all.filter((lease) => lease.expiresAt <= now || isLeaseOwnerDead(lease.owner));
  if (left.length === 0) return { check, status: 'ok', found: `${all.length} held, none left behind` };
  const some = left.slice(0, 3).map(({ resource }) => resource);
  return {
    check,
    status: 'warning',
    found: `${left.length} of ${all.length} left behind by processes that are gone: ${some.join(', ')}${left.length > 3 ? ', …' : ''}`,
    advice: 'run `qrs sweep`: it ends them, and deletes what those processes had half written',
  };
}
