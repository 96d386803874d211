/**
 * Orphans: stored objects that publishing wrote and no result needs, of expired results and of writers that failed.
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
import type { Catalog, Lease } from '../catalog/catalog.ts';
import { LEASE_KINDS, readResources, writeResource } from '../domain/lease-names.ts';
import { letOthersRun } from '../domain/time.ts';
import { isWriterFolder, writerOfKey, writerPrefix } from '../domain/written-names.ts';
import type { ResultStore } from '../store/result-store.ts';
import { isTooMuch, requireSound, type SweepStopped, type SweepTrust, tooMuch } from './sweep-trust.ts';
import type { Undeleted } from './undeleted.ts';

export interface OrphansDependencies {
  readonly catalog: Pick<Catalog, 'executions' | 'leases' | 'verify'>;
  readonly store: ResultStore;
  readonly trust: SweepTrust;
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

/** Deletes them, unless they are more than a sweep is trusted with. @throws SweepStopped where the catalog is damaged */
export async function deleteOrphans(
  dependencies: OrphansDependencies,
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
  { catalog }: OrphansDependencies,
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

/** A lease past its time counts too: only a revoked one, which is not listed, cannot be renewed any more. */
function isBeingWritten(leases: readonly Lease[], prefix: string): boolean {
  return leases.some((lease) => lease.resource.startsWith(LEASE_KINDS.write) && writerPrefix(lease) === prefix);
}

/** Lists the leases anew: the writer of a folder that was found only now may have taken its lease only now, too. */
async function hasWriter({ catalog }: OrphansDependencies, prefix: string): Promise<boolean> {
  const [executionId = ''] = prefix.split('/');
  return isBeingWritten(await catalog.leases.list(writeResource(executionId)), prefix);
}

function isBeingRead(leases: readonly Lease[], executionId: string): boolean {
  const beginning = readResources(executionId);
  return leases.some(({ resource }) => resource.startsWith(beginning));
}
