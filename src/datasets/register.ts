/** The curated datasets as queries of the catalog: public, and owned by a team of their own that no key acts for. */
import { type Catalog, CatalogConflict } from '../catalog/catalog.ts';
import type { Instant } from '../domain/instant.ts';
import type { Dataset } from './dataset.ts';
import type { Datasets } from './registry.ts';

export const CURATORS = 'curated-datasets';

export interface Registered {
  /** Those that are there now, as queries of ours. */
  readonly datasets: Datasets;
  /** Why others are not: the query of their id is somebody else's. */
  readonly refusals: readonly string[];
}

/**
 * Adds what is missing; any number of processes may do so at once. A dataset whose query id was taken before such ids were
 * reserved is left out, since its address would hand out what is somebody else's.
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
    const query = { id: queryId, name, owner, visibility: 'public' } as const;
    let found = await catalog.queries.find(queryId);
    if (found === undefined) {
      await unlessThere(catalog.principals.addTeam(CURATORS, [], now));
      await unlessThere(catalog.queries.add(query, now));
      found = await catalog.queries.find(queryId);
    }
    if (found?.owner.kind === 'team' && found.owner.name === CURATORS) registered.push(dataset);
    else {
      const whose = `${found?.owner.kind} ${found?.owner.name}`;
      refusals.push(`query ${queryId} is reserved for the dataset ${name}, but belongs to ${whose}`);
    }
  }
  return { datasets: registered, refusals };
}

async function unlessThere(adding: Promise<unknown>): Promise<void> {
  try {
    await adding;
  } catch (error) {
    if (!(error instanceof CatalogConflict)) throw error;
  }
}
