/** One sweep at a time over all processes, by a lease. A sweep beside another does no harm, but lists the whole store for nothing. */
import { isStorageFull } from '../errors/storage-full.ts';
import { KeptLease, type LeaseOptions } from '../leases/kept-lease.ts';
import { isLeaseOwnerDead } from '../leases/lease-owner.ts';

const RESOURCE = 'sweep';

/** @returns false when another process sweeps at the moment; whatever the work rejects with */
export async function sweepAlone(
  options: LeaseOptions,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<boolean> {
  const lease = await takeTurn(options).catch((error: unknown) => {
    // On a full disk no lease can be had, and the sweep is what frees it.
    if (isStorageFull(error)) return 'full' as const;
    throw error;
  });
  if (lease === undefined) return false;
  if (lease === 'full') await work(signal);
  else {
    await using held = lease;
    await work(AbortSignal.any([signal, held.signal]));
  }
  return true;
}

async function takeTurn(options: LeaseOptions): Promise<KeptLease | undefined> {
  const { leases } = options.catalog;
  for (const lease of await leases.list(RESOURCE)) if (isLeaseOwnerDead(lease.owner)) await leases.revoke(lease);
  return await KeptLease.acquire(RESOURCE, { during: 'while sweeping', onError: () => undefined }, options);
}
