/** The curated datasets as queries of the catalog: public, and owned by a team of their own that no key acts for. */
import { type Catalog, CatalogConflict } from '../catalog/catalog.ts';
import type { Instant } from '../domain/instant.ts';
import type { Datasets } from './registry.ts';

export const CURATORS = 'curated-datasets';

/**
 * Adds what is missing; any number of processes may do so at once.
 * @throws Error when a dataset's query id belongs to somebody else's query.
 */
export async function registerDatasets(
  catalog: Pick<Catalog, 'principals' | 'queries'>,
  datasets: Datasets,
  now: Instant,
): Promise<void> {
  const owner = { kind: 'team', name: CURATORS } as const;
  for (const { name, queryId } of datasets) {
    const query = { id: queryId, name, owner, visibility: 'public' } as const;
    let found = await catalog.queries.find(queryId);
    if (found === undefined) {
      await unlessThere(catalog.principals.addTeam(CURATORS, [], now));
      await unlessThere(catalog.queries.add(query, now));
      found = await catalog.queries.find(queryId);
    }
    if (found?.owner.kind !== 'team' || found.owner.name !== CURATORS) {
      throw new Error(
        `query ${queryId} is reserved for the dataset ${name}, but belongs to ${found?.owner.kind} ${found?.owner.name}`,
      );
    }
  }
}

async function unlessThere(adding: Promise<void>): Promise<void> {
  try {
    await adding;
  } catch (error) {
    if (!(error instanceof CatalogConflict)) throw error;
  }
}
