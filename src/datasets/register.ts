/**
 * The curated datasets as queries of the catalog: public, with their SQL and their schedule, and owned by a team of their own that
 * no key acts for.
 */
import { type Catalog, CatalogConflict } from '../catalog/catalog.ts';
import type { Instant } from '../domain/instant.ts';
import type { Query } from '../domain/query.ts';
import type { Dataset } from './dataset.ts';
import { declaredQuery, differingFields } from './declared-query.ts';
import type { Datasets } from './registry.ts';
import { isReservedQueryId } from './reserved-ids.ts';

export const CURATORS = 'curated-datasets';

export interface Registered {
  /** Those that are there now, as queries of ours. */
  readonly datasets: Datasets;
  /** Why others are not: the query of their id is somebody else's. */
  readonly refusals: readonly string[];
}

/** Whether this is the query of a dataset, if not of one that this process knows. */
export function isCurated({ id, owner }: Pick<Query, 'id' | 'owner'>): boolean {
  return isReservedQueryId(id) && owner.kind === 'team' && owner.name === CURATORS;
}

/**
 * Adds what is missing, and changes what another release or setting says otherwise; any number of processes may do so at once. A dataset whose
 * query id was taken before such ids were reserved is left out, since its address would hand out what is somebody else's.
 */
export async function registerDatasets(
  catalog: Pick<Catalog, 'principals' | 'queries'>,
  datasets: Datasets,
  now: Instant,
): Promise<Registered> {
  const owner = { kind: 'team', name: CURATORS } as const;
  const registered: Dataset[] = [];
  const refusals: string[] = [];
  for (const dataset of datasets) {
    const { name, queryId } = dataset;
    const declared = declaredQuery(dataset);
    const query = { id: queryId, owner, ...declared };
    let found = await catalog.queries.find(queryId);
    if (found === undefined) {
      await unlessThere(catalog.principals.addTeam(CURATORS, [], now));
      await unlessThere(catalog.queries.add(query, now));
      found = await catalog.queries.find(queryId);
    }
    if (found !== undefined && isCurated(found)) {
      if (differingFields(found, declared).length > 0) await catalog.queries.update(queryId, declared, now);
      registered.push(dataset);
    } else {
      const whose = `${found?.owner.kind} ${found?.owner.name}`;
      refusals.push(`query ${queryId} is reserved for the dataset ${name}, but belongs to ${whose}`);
    }
  }
  return { datasets: registered, refusals };
}

/** Adds what is there only once, whoever adds it. */
export async function unlessThere(adding: Promise<unknown>): Promise<void> {
  try {
    await adding;
  } catch (error) {
    if (!(error instanceof CatalogConflict)) throw error;
  }
}
