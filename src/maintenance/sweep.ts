/**
 * The sweep: deletes what nobody needs any more. Results past their expiry, and what killed or failed publishers left behind,
 * staged or stored. Safe beside running publishers, readers and other sweeps, in this process or another. What does not bear exactly
 * a name that publishing gives (written-names.ts) is somebody else's and stays, wherever it lies.
 *
 * Why nothing that is written is ever deleted: a writer takes the lease `write:<id>` before it puts anything, puts it below
 * `<id>/<token>/` (the token is that lease's own), and can commit only while it still holds that lease; the commit ends the
 * lease in the same step. The sweep looks in this order: objects, then leases, then the manifest. If at the second look no
 * lease with this token is held, that writer has committed before, and the third look sees it, or it never can.
 *
 * Why nothing that is read is: an expired result leaves the catalog first, then the sweep looks for `read:<id>:` leases. A
 * long read takes its lease first, then looks whether the result is still in the catalog. One of the two sees the other. What
 * a reader holds back stays an orphan, and a later sweep deletes it. A short read needs no lease: it began before the result expired
 * and ends within the time limit of reads, so that an expired result leaves the catalog only so much later.
 */
import type { Dirent } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Catalog, IllegalTransition, type Lease } from '../catalog/catalog.ts';
import type { Clock } from '../domain/instant.ts';
import { LEASE_KINDS, readResources, writeResource } from '../domain/lease-names.ts';
import { DELIVERIES_KEPT_MILLIS, IDEMPOTENCY_KEPT_MILLIS } from '../domain/retention.ts';
import { letOthersRun } from '../domain/time.ts';
import {
  executionOfDerived,
  isStagingName,
  isWriterFolder,
  stagingName,
  writerOfKey,
  writerPrefix,
} from '../domain/written-names.ts';
import { isMissing } from '../errors/system-code.ts';
import type { ReserveFile } from '../files/reserve-file.ts';
import { isLeaseOwnerDead } from '../leases/lease-owner.ts';
import type { ResultStore } from '../store/result-store.ts';
import { requireStillJoined } from './installation.ts';
import { isTooMuch, requireClock, requireSound, type SweepStopped, type SweepTrust, tooMuch } from './sweep-trust.ts';
import { Undeleted } from './undeleted.ts';

export interface SweepDependencies {
  readonly catalog: Pick<
    Catalog,
    'executions' | 'idempotencyKeys' | 'installation' | 'leases' | 'now' | 'verify' | 'webhooks'
  >;
  readonly store: ResultStore;
  readonly stagingDirectory: string;
  /** Files that were made from results. */
  readonly derivedDirectory: string;
  readonly clock: Clock;
  /** How long a read may take that holds no lease. */
  readonly readTimeoutMillis: number;
  readonly trust: SweepTrust;
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

/** Of writers, readers, and requests that are carried out once. */
const SWEPT_LEASES = Object.values(LEASE_KINDS);
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

/** Only what lies on the disks of this host: what was staged here, and what was made from results. */
export async function sweepLocal(dependencies: SweepDependencies, signal: AbortSignal): Promise<void> {
  const undeleted = new Undeleted();
  await deleteStaged(dependencies, undeleted, signal);
  await deleteDerived(dependencies, undeleted, signal);
  undeleted.requireNone();
}

/** Ends the write leases of the dead, so that no late commit can meet a deletion. */
async function revokeDead({ catalog }: SweepDependencies): Promise<void> {
  const leases = (await Promise.all(SWEPT_LEASES.map((prefix) => catalog.leases.list(prefix)))).flat();
  const now = await catalog.now();
  for (const lease of leases) {
    if (lease.expiresAt <= now || isLeaseOwnerDead(lease.owner)) await catalog.leases.revoke(lease);
  }
}

/** Only in the catalog: the objects are orphans then, deleted with all others. */
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

/** The objects of one writer. */
interface Written {
  readonly executionId: string;
  /** The bytes of each, by its key. */
  readonly objects: Map<string, number>;
}

/** What one writer left, and no result has. */
interface Orphan extends Written {
  /** The run has expired: its objects are expected to go. */
  readonly expired: boolean;
}

interface Deleted {
  readonly orphans: number;
  readonly bytes: number;
  /** Why orphans that did not expire were left; undefined where they were deleted. */
  readonly stopped: SweepStopped | undefined;
}

async function deleteOrphans(
  dependencies: SweepDependencies,
  undeleted: Undeleted,
  signal: AbortSignal,
): Promise<Deleted> {
  const { catalog, store, trust } = dependencies;
  const written = await listWritten(store, signal);
  const leases = await catalog.leases.list('');
  const found = await findOrphans(dependencies, written, leases, signal);
  const stored = countObjects(written.values());
  const unexpected = countObjects(found.filter(({ expired }) => !expired));
  const stopped = isTooMuch(unexpected, stored, trust) ? tooMuch(unexpected, stored) : undefined;
  // A catalog that would keep so little may have lost what it knew: it is verified again.
  if (unexpected > stored / 2) await requireSound(catalog, true);
  let orphans = 0;
  let bytes = 0;
  for (const orphan of found) {
    signal.throwIfAborted();
    if (stopped !== undefined && !orphan.expired) continue;
    const open = await undeleted.attempt(() => store.delete([...orphan.objects.keys()]), signal);
    if (open === undefined) continue;
    const kept = new Set(open);
    for (const [key, objectBytes] of orphan.objects) if (!kept.has(key)) bytes += objectBytes;
    // Objects that this process has open are left for a later sweep. Counted as deleted, they would be tried again at once, and for ever.
    if (kept.size > 0) continue;
    if (!orphan.expired) orphans += 1;
  }
  const mayRemove = async (prefix: string) => isWriterFolder(prefix) && !(await hasWriter(dependencies, prefix));
  await undeleted.attempt(() => store.removeEmptyFolders(mayRemove), signal);
  return { orphans, bytes, stopped };
}

async function findOrphans(
  { catalog }: SweepDependencies,
  written: ReadonlyMap<string, Written>,
  leases: readonly Lease[],
  signal: AbortSignal,
): Promise<readonly Orphan[]> {
  const found: Orphan[] = [];
  for (const [prefix, ofWriter] of written) {
    // An embedded catalog answers without ever giving up its turn of the event loop, and there may be thousands of results to look at.
    await letOthersRun();
    signal.throwIfAborted();
    const { executionId } = ofWriter;
    if (isBeingWritten(leases, prefix) || isBeingRead(leases, executionId)) continue;
    const resultSet = await catalog.executions.findResultSet(executionId);
    if (resultSet?.parts.some((part) => part.key.startsWith(prefix))) continue;
    const execution = await catalog.executions.find(executionId);
    found.push({ ...ofWriter, expired: execution?.state === 'EXPIRED' });
  }
  return found;
}

function countObjects(written: Iterable<Written>): number {
  let count = 0;
  for (const { objects } of written) count += objects.size;
  return count;
}

/** What publishing wrote, by its prefix. Objects of other names are not ours: they stay, whatever they are. */
async function listWritten(store: ResultStore, signal: AbortSignal): Promise<ReadonlyMap<string, Written>> {
  const written = new Map<string, Written>();
  for await (const { key, objectBytes } of store.list('')) {
    signal.throwIfAborted();
    const writer = writerOfKey(key);
    if (writer === undefined) continue;
    const { prefix, executionId } = writer;
    const ofWriter = written.get(prefix) ?? { executionId, objects: new Map<string, number>() };
    ofWriter.objects.set(key, objectBytes);
    written.set(prefix, ofWriter);
  }
  return written;
}

async function deleteStaged(
  { catalog, stagingDirectory }: SweepDependencies,
  undeleted: Undeleted,
  signal: AbortSignal,
): Promise<{ readonly folders: number; readonly bytes: number }> {
  const staged = (await foldersIn(stagingDirectory)).filter(isStagingName);
  const leases = await catalog.leases.list(LEASE_KINDS.write);
  let folders = 0;
  let bytes = 0;
  for (const name of staged) {
    signal.throwIfAborted();
    if (leases.some((lease) => stagingName(lease) === name)) continue;
    const path = join(stagingDirectory, name);
    const freed = await undeleted.attempt(async () => {
      const found = await bytesBelow(path);
      await rm(path, { recursive: true, force: true });
      return found;
    }, signal);
    if (freed === undefined) continue;
    bytes += freed;
    folders += 1;
  }
  return { folders, bytes };
}

/** What was made from results that are gone. A reader that has such a file open goes on reading it. @returns bytes */
async function deleteDerived(
  { catalog, derivedDirectory }: SweepDependencies,
  undeleted: Undeleted,
  signal: AbortSignal,
): Promise<number> {
  let bytes = 0;
  for (const entry of await entriesOf(derivedDirectory)) {
    await letOthersRun();
    signal.throwIfAborted();
    const { name } = entry;
    const executionId = entry.isFile() ? executionOfDerived(name) : undefined;
    if (executionId === undefined || (await catalog.executions.findResultSet(executionId)) !== undefined) continue;
    const path = join(derivedDirectory, name);
    const freed = await undeleted.attempt(async () => {
      const found = (await lstat(path).catch(() => undefined))?.size ?? 0;
      await rm(path, { force: true });
      return found;
    }, signal);
    bytes += freed ?? 0;
  }
  return bytes;
}

/** A lease past its time counts too: only a revoked one, which is not listed, cannot be renewed any more. */
function isBeingWritten(leases: readonly Lease[], prefix: string): boolean {
  return leases.some((lease) => lease.resource.startsWith(LEASE_KINDS.write) && writerPrefix(lease) === prefix);
}

/** Lists the leases anew: the writer of a folder that was found only now may have taken its lease only now, too. */
async function hasWriter({ catalog }: SweepDependencies, prefix: string): Promise<boolean> {
  const [executionId = ''] = prefix.split('/');
  return isBeingWritten(await catalog.leases.list(writeResource(executionId)), prefix);
}

function isBeingRead(leases: readonly Lease[], executionId: string): boolean {
  const beginning = readResources(executionId);
  return leases.some(({ resource }) => resource.startsWith(beginning));
}

async function foldersIn(folder: string): Promise<readonly string[]> {
  return (await entriesOf(folder)).filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

async function bytesBelow(folder: string): Promise<number> {
  let bytes = 0;
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name);
    bytes += entry.isDirectory() ? await bytesBelow(path) : ((await lstat(path).catch(() => undefined))?.size ?? 0);
  }
  return bytes;
}
