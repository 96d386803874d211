/** A query that the page at /docs may ask for at first: public, so that every key may read it, and with a result. */
import { STATES, stateAt } from '../domain/execution.ts';
import type { ResultsDeps } from '../results/deps.ts';
import type { ExampleIds } from './docs.ts';
import type { DatasetRoute } from './results-routes.ts';

/** Queries are mostly numbered from 1. */
const FIRST_IDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/** @returns undefined where there is none among the first queries and the datasets */
export async function findExample(
  { catalogCache, clock }: Pick<ResultsDeps, 'catalogCache' | 'clock'>,
  datasets: readonly DatasetRoute[],
): Promise<ExampleIds | undefined> {
  // No key has been looked up, which would have done it.
  await catalogCache.refresh();
  for (const id of [...FIRST_IDS, ...datasets.map(({ queryId }) => queryId)]) {
    const query = await catalogCache.query(id);
    if (query?.visibility !== 'public') continue;
    const found = await catalogCache.latest(id, {}, clock());
    if (found !== undefined && STATES[stateAt(found.execution, clock())].hasResult) {
      return { queryId: id, executionId: found.execution.id };
    }
  }
  return undefined;
}
