/**
 * Whether the catalog and the store belong together. Each carries the id of the installation, written when they are first used together;
 * with another catalog's store every result in it would look like a leftover, and with another store's catalog every result would be
 * missing. So nothing is done with two that differ, until somebody who knows says so (`qrs doctor --adopt`).
 */
import type { Catalog } from '../catalog/catalog.ts';
import type { ResultSet } from '../domain/result-set.ts';
import { writerOfKey } from '../domain/written-names.ts';
import { StartupError } from '../errors/startup-error.ts';
import type { ResultStore } from '../store/result-store.ts';
import { storedResults } from './stored-results.ts';

export interface CatalogAndStore {
  readonly catalog: Pick<Catalog, 'executions' | 'installation'>;
  readonly store: ResultStore;
}

/** Of so many results one must be in the store. */
const RESULTS_MAX = 1000;

const ADVICE =
  'check QRS_DATA_DIR, QRS_CATALOG_URL and QRS_STORE_URL; if the two do belong together, `qrs doctor --adopt` joins them';

/**
 * Joins those that are used for the first time. Any number of processes may do so at once.
 * @throws StartupError when the two do not belong together
 */
export async function requireJoined(both: CatalogAndStore, newId: () => string): Promise<void> {
  const found = await findIds(both);
  if (areJoined(found)) return;
  try {
    await join(both, found, newId);
  } catch (error) {
    // Between two looks of ours another process may have joined them, and may even have stored a result.
    if (!areJoined(await findIds(both))) throw error;
  }
}

interface Ids {
  readonly ofCatalog: string | undefined;
  readonly ofStore: string | undefined;
}

async function findIds({ catalog, store }: CatalogAndStore): Promise<Ids> {
  return { ofCatalog: await catalog.installation.findId(), ofStore: await store.findInstallation() };
}

function areJoined({ ofCatalog, ofStore }: Ids): boolean {
  return ofCatalog !== undefined && ofCatalog === ofStore;
}

async function join(both: CatalogAndStore, { ofCatalog, ofStore }: Ids, newId: () => string): Promise<void> {
  const { catalog, store } = both;
  if (ofStore !== undefined) throw otherStore(ofStore, ofCatalog);
  await requireSharedResult(both);
  // The catalog first: a store that is marked then always has a catalog that says so.
  await store.setInstallation(await catalog.installation.initializeId(newId()));
}

/** Before anything is deleted: that nobody has put another store, or another catalog, into the place meanwhile. */
export async function requireStillJoined(both: CatalogAndStore): Promise<void> {
  const found = await findIds(both);
  if (!areJoined(found)) throw otherStore(found.ofStore, found.ofCatalog);
}

export interface Adopted {
  /** Results that the catalog knows and of which nothing is in the store. */
  readonly missing: number;
  /** Runs of which something is in the store, and which have no result in the catalog: the sweep deletes it. */
  readonly unknown: number;
}

/** Makes them belong together, whatever they say. Another catalog that used this store finds itself shut out. */
export async function adopt({ catalog, store }: CatalogAndStore, newId: () => string): Promise<Adopted> {
  const id = (await catalog.installation.findId()) ?? newId();
  const stored = new Set<string>();
  for await (const { key } of store.list('')) {
    const writer = writerOfKey(key);
    if (writer !== undefined) stored.add(writer.prefix);
  }
  let missing = 0;
  for await (const prefix of resultPrefixes(catalog)) if (!stored.delete(prefix)) missing += 1;
  await catalog.installation.setId(id);
  await store.setInstallation(id);
  return { missing, unknown: stored.size };
}

/** Of two without marks, or a store that lost its own: that they share a result, or that there is none to lose. */
async function requireSharedResult({ catalog, store }: CatalogAndStore): Promise<void> {
  let looked = 0;
  for await (const prefix of resultPrefixes(catalog)) {
    for await (const _ of store.list(prefix)) return;
    looked += 1;
    if (looked >= RESULTS_MAX) break;
  }
  if (looked > 0) throw apart(`the catalog has results, and the store has none of them (${looked} were looked for)`);
  for await (const { key } of store.list('')) {
    if (writerOfKey(key) === undefined) continue;
    throw apart(`the store has results (${key}), and the catalog, which may be new, knows none`);
  }
}

/** Where the objects of each result lie. Results without rows have none. */
async function* resultPrefixes(catalog: Pick<Catalog, 'executions'>): AsyncGenerator<string> {
  for await (const { resultSet } of storedResults(catalog.executions)) {
    const prefix = prefixOf(resultSet);
    if (prefix !== undefined) yield prefix;
  }
}

function prefixOf({ parts }: ResultSet): string | undefined {
  const key = parts[0]?.key;
  return key === undefined ? undefined : key.slice(0, key.lastIndexOf('/') + 1);
}

function nameOf(id: string | undefined): string {
  return id === undefined ? 'none yet' : `installation ${id}`;
}

function otherStore(ofStore: string | undefined, ofCatalog: string | undefined): StartupError {
  return apart(`the store is that of ${nameOf(ofStore)}, the catalog of ${nameOf(ofCatalog)}`);
}

function apart(reason: string): StartupError {
  return new StartupError(`the catalog and the store do not belong together: ${reason}; ${ADVICE}`);
}
