/**
 * The sweep: deletes what nobody needs any more. Results past their expiry, and what killed or failed publishers left behind,
 * staged or stored. Safe beside running publishers, readers and other sweeps, in this process or another. What does not bear exactly
 * a name that publishing gives (written-names.ts) is somebody else's and stays, wherever it lies.
 *
 * orphans.ts says why nothing that is being written or read is ever deleted.
 */
import { type Catalog, IllegalTransition } from '../catalog/catalog.ts';
import type { Clock } from '../domain/instant.ts';
import { LEASE_KINDS } from '../domain/lease-names.ts';
import { DELIVERIES_KEPT_MILLIS, IDEMPOTENCY_KEPT_MILLIS } from '../domain/retention.ts';
import { letOthersRun } from '../domain/time.ts';
import type { ReserveFile } from '../files/reserve-file.ts';
import { isLeaseOwnerDead } from '../leases/lease-owner.ts';
import { requireStillJoined } from './installation.ts';
import { deleteDerived, deleteStaged, type LeftoversDependencies } from './leftovers.ts';
import { deleteOrphans, type OrphansDependencies } from './orphans.ts';
import { requireClock, requireSound } from './sweep-trust.ts';
import { Undeleted } from './undeleted.ts';

export interface SweepDependencies extends OrphansDependencies, LeftoversDependencies {
  readonly catalog: Pick<
    Catalog,
    'executions' | 'idempotencyKeys' | 'installation' | 'leases' | 'now' | 'verify' | 'webhooks'
  >;
  readonly clock: Clock;
  /** How long a read may take that holds no lease. */
  readonly readTimeoutMillis: number;
  /** Room on the disk of the catalog: a result leaves the catalog before its objects go. */
  readonly reserve: Pick<ReserveFile, 'during'>;
}

export interface Swept {
  /** Results that expired. */
  readonly expired: number;
  /** Writers' leftovers: stored and staged folders without a result. */
  readonly orphans: number;
  /** Bytes that were freed. */
  readonly bytes: number;
}

/** How many expired results are asked of the catalog at a time. */
const STEP = 100;

/** The first of several sweeps expires this many results. Their objects are deleted before more expire, which makes room on a full disk. */
const FIRST_LIMIT = 200;
/** More sweeps than any number of results needs. A store that does not delete what it says it deletes would otherwise be swept for ever. */
const SWEEPS_MAX = 20;

/**
 * Sweeps until nothing is left to be deleted. Each sweep lists the whole store and looks up all that is in it: so twice as many results
 * may expire in each as in the one before, and there are few.
 * @param onSwept told of what is deleted so far
 * @throws as `sweep` does
 */
export async function sweepAll(
  dependencies: SweepDependencies,
  signal: AbortSignal,
  onSwept: (soFar: Swept) => void,
): Promise<void> {
  let soFar: Swept = { expired: 0, orphans: 0, bytes: 0 };
  for (let sweeps = 0; sweeps < SWEEPS_MAX; sweeps += 1) {
    const { expired, orphans, bytes } = await sweep(dependencies, FIRST_LIMIT * 2 ** sweeps, signal);
    if (expired + orphans + bytes === 0) return;
    soFar = { expired: soFar.expired + expired, orphans: soFar.orphans + orphans, bytes: soFar.bytes + bytes };
    onSwept(soFar);
  }
}

/**
 * @param limit at most this many results expire; the rest waits for the next sweep
 * @throws SweepStopped when it is not to be trusted, StartupError when the store is not that of the catalog; the signal's reason once
 *   it is aborted. What was deleted until then stays so.
 */
export async function sweep(dependencies: SweepDependencies, limit: number, signal: AbortSignal): Promise<Swept> {
  return await dependencies.reserve.during(() => sweepOnce(dependencies, limit, signal));
}

async function sweepOnce(dependencies: SweepDependencies, limit: number, signal: AbortSignal): Promise<Swept> {
  const { catalog, clock, trust } = dependencies;
  await requireStillJoined(dependencies);
  await requireClock(catalog, clock(), trust);
  await requireSound(catalog, false);
  await revokeDead(dependencies);
  // By the catalog's clock, by which they were kept: with a host's clock that is ahead, requests would be carried out twice.
  const now = await catalog.now();
  await catalog.idempotencyKeys.deleteUntil(now - IDEMPOTENCY_KEPT_MILLIS);
  await catalog.webhooks.deleteUntil(now - DELIVERIES_KEPT_MILLIS);
  const expired = await expire(dependencies, limit, signal);
  const undeleted = new Undeleted();
  const stored = await deleteOrphans(dependencies, undeleted, signal);
  const staged = await deleteStaged(dependencies, undeleted, signal);
  const derived = await deleteDerived(dependencies, undeleted, signal);
  const swept = { expired, orphans: stored.orphans + staged.folders, bytes: stored.bytes + staged.bytes + derived };
  // All that may be deleted goes first. Only a sweep that finds nothing more to delete reports what was left.
  if (swept.expired + swept.orphans + swept.bytes > 0) return swept;
  if (stored.stopped !== undefined) throw stored.stopped;
  undeleted.requireNone();
  return swept;
}

/** Sweeps only the disks of this host. */
export async function sweepLocal(dependencies: SweepDependencies, signal: AbortSignal): Promise<void> {
  const undeleted = new Undeleted();
  await deleteStaged(dependencies, undeleted, signal);
  await deleteDerived(dependencies, undeleted, signal);
  undeleted.requireNone();
}

/** Ends the leases of processes that are gone, so that no late commit of theirs can meet a deletion. */
async function revokeDead({ catalog }: SweepDependencies): Promise<void> {
  const leases = (await Promise.all(Object.values(LEASE_KINDS).map((prefix) => catalog.leases.list(prefix)))).flat();
  const now = await catalog.now();
  for (const lease of leases) {
    if (lease.expiresAt <= now || isLeaseOwnerDead(lease.owner)) await catalog.leases.revoke(lease);
  }
}

/** Expires results in the catalog only. Their objects are orphans then, and deleted as such. */
async function expire(
  { catalog, clock, readTimeoutMillis }: SweepDependencies,
  limit: number,
  signal: AbortSignal,
): Promise<number> {
  let expired = 0;
  for (;;) {
    const due = await catalog.executions.listExpired(clock() - readTimeoutMillis, Math.min(STEP, limit - expired));
    if (due.length === 0) return expired;
    for (const { id } of due) {
      await letOthersRun();
      signal.throwIfAborted();
      try {
        await catalog.executions.expire(id);
        expired += 1;
      } catch (error) {
        // Another sweep was quicker.
        if (!(error instanceof IllegalTransition)) throw error;
      }
    }
    if (expired >= limit) return expired;
  }
}
