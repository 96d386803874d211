/**
 * Copies what results need from one store to another, while the service goes on with the first. Each object is read with its hashes
 * compared, put whole, and read back. What the other store has already is passed over, so that a copy that was ended goes on where it was.
 * Nothing is deleted in either.
 *
 * Until all is there, the other store is marked as a copy that is not finished: no service opens it. `finish` is for when nobody writes any
 * more. It copies what has come since, marks the other store as the catalog's own, and the first one as left.
 */
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Catalog } from '../catalog/catalog.ts';
import { LEASE_KINDS } from '../domain/lease-names.ts';
import { LIVE_MILLIS } from '../domain/replica.ts';
import { allRowsOf, type NeededObject, objectsOf } from '../domain/result-set.ts';
import { ObjectDamaged, type ResultStore } from '../store/result-store.ts';
import { storedResults } from './stored-results.ts';

export interface StoreCopyDependencies {
  readonly catalog: Pick<Catalog, 'executions' | 'installation' | 'leases' | 'replicas'>;
  readonly from: ResultStore;
  readonly to: ResultStore;
  /** An empty folder, on the disk of the other store where that is a folder. */
  readonly scratch: string;
}

export interface CopyProgress {
  /** Objects that results need, as far as has been looked. */
  readonly needed: number;
  readonly copied: number;
  readonly bytes: number;
}

export interface StoreCopied extends CopyProgress {
  /** What the first store does not have as it was stored: not copied. */
  readonly damaged: readonly string[];
}

/** The store is another's, somebody still writes, or something is damaged. The message says what to do. */
export class StoreCopyRefused extends Error {}

const NAMED_MAX = 5;

/** @throws StoreCopyRefused, the stores' errors, or the signal's reason; what was copied until then stays */
export async function copyStore(
  dependencies: StoreCopyDependencies,
  signal: AbortSignal,
  onProgress: (progress: CopyProgress) => void = () => undefined,
): Promise<StoreCopied> {
  const id = await ownId(dependencies);
  await requireCopyOf(dependencies.to, id);
  const { to } = dependencies;
  const there = new Map<string, number>();
  for await (const { key, objectBytes } of to.list('')) there.set(key, objectBytes);
  const damaged: string[] = [];
  let progress: CopyProgress = { needed: 0, copied: 0, bytes: 0 };
  for await (const { executionId, part } of neededObjects(dependencies.catalog, signal)) {
    progress = { ...progress, needed: progress.needed + 1 };
    if (there.get(part.key) !== part.objectBytes) {
      // Of another length: damaged since. Nothing that is there is replaced.
      if (there.has(part.key)) await to.delete([part.key]);
      const outcome = await copyObject(dependencies, executionId, part, signal);
      if (outcome === 'damaged') damaged.push(part.key);
      if (outcome === 'copied') {
        progress = { ...progress, copied: progress.copied + 1, bytes: progress.bytes + part.objectBytes };
      }
    }
    onProgress(progress);
  }
  return { ...progress, damaged };
}

/**
 * The last pass, and the change of place.
 * @throws StoreCopyRefused while a replica runs or a result is being written, or when something is damaged and may not be left behind
 */
export async function finishCopy(
  dependencies: StoreCopyDependencies,
  { leaveDamaged }: { readonly leaveDamaged: boolean },
  signal: AbortSignal,
  onProgress?: (progress: CopyProgress) => void,
): Promise<StoreCopied> {
  const { catalog, from, to } = dependencies;
  const id = await ownId(dependencies);
  await requireNobodyWrites(catalog);
  const copied = await copyStore(dependencies, signal, onProgress);
  if (copied.damaged.length > 0 && !leaveDamaged) {
    throw new StoreCopyRefused(
      `${copied.damaged.length} objects are damaged, so that their results cannot be copied: ${namesOf(copied.damaged)}; restore them from a backup, or leave them behind with \`--leave-damaged\``,
    );
  }
  await requireNobodyWrites(catalog);
  await from.setInstallation(`${id} (moved to another store)`);
  await to.setInstallation(id).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    // Both are marked as nobody's now, so that to ask for the same again would be refused.
    throw new StoreCopyRefused(
      `everything is copied, and the first store is marked as left, but the other one could not be marked as that of the catalog: ${why}; set QRS_STORE_URL to the other store, and run \`qrs doctor --adopt\``,
      { cause: error },
    );
  });
  return copied;
}

async function copyObject(
  { catalog, from, to, scratch }: StoreCopyDependencies,
  executionId: string,
  part: NeededObject,
  signal: AbortSignal,
): Promise<'copied' | 'damaged' | 'gone'> {
  const path = join(scratch, 'object');
  try {
    // All of its blocks are checked, which are all of its bytes.
    await using opened = await from.open(part, allRowsOf(part), signal);
    await copyFile(opened.path, path);
  } catch (error) {
    if (!(error instanceof ObjectDamaged)) throw error;
    // Expired and swept since its manifest was read.
    return (await catalog.executions.hasResultSet(executionId)) ? 'damaged' : 'gone';
  }
  await to.put(part.key, path, signal);
  await to.verify(part, signal).catch(async (error: unknown) => {
    // What is there is passed over the next time, so this must not stay.
    await to.delete([part.key]);
    throw error;
  });
  return 'copied';
}

async function* neededObjects(
  { executions }: Pick<Catalog, 'executions'>,
  signal: AbortSignal,
): AsyncGenerator<{ readonly executionId: string; readonly part: NeededObject }> {
  for await (const { id, resultSet } of storedResults(executions)) {
    signal.throwIfAborted();
    for (const part of objectsOf(resultSet)) yield { executionId: id, part };
  }
}

/** @throws StoreCopyRefused where the first store is not the catalog's */
async function ownId({ catalog, from }: StoreCopyDependencies): Promise<string> {
  const [id, ofStore] = [await catalog.installation.findId(), await from.findInstallation()];
  if (id === undefined || id !== ofStore) {
    throw new StoreCopyRefused('the store of QRS_STORE_URL does not belong to the catalog: only that one is copied');
  }
  return id;
}

async function requireCopyOf(to: ResultStore, id: string): Promise<void> {
  const mark = `${id} (a copy that is not finished)`;
  const found = await to.findInstallation();
  if (found === mark) return;
  if (found !== undefined) {
    throw new StoreCopyRefused(`the other store belongs to installation ${found}: give one that nobody uses`);
  }
  for await (const { key } of to.list('')) {
    throw new StoreCopyRefused(`the other store holds objects (${key}): give an empty one`);
  }
  await to.setInstallation(mark);
}

async function requireNobodyWrites({ leases, replicas }: StoreCopyDependencies['catalog']): Promise<void> {
  const live = await replicas.list(LIVE_MILLIS);
  if (live.length > 0) {
    throw new StoreCopyRefused(
      `replicas still use the first store: ${namesOf(live.map(({ name }) => name))}; stop them, or wait half a minute if they died`,
    );
  }
  const written = await leases.list(LEASE_KINDS.write);
  if (written.length > 0) {
    throw new StoreCopyRefused(
      `results are being written: ${namesOf(written.map(({ resource }) => resource))}; wait for their end, or \`qrs sweep\` if their writers died`,
    );
  }
}

function namesOf(names: readonly string[]): string {
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : '';
  return `${names.slice(0, NAMED_MAX).join(', ')}${more}`;
}
