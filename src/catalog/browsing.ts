/** Looking around in the catalog (contract §8): lists that are searched, counted and cut into pages by the database. */
import type { FoundQuery, ListPage, QuerySearch, RunFilter, RunSummary } from '../domain/browsing.ts';
import type { Instant } from '../domain/instant.ts';

export interface Browsing {
  /** Newest first; with a text nearest first: those with its words in their names before others. */
  searchQueries(search: QuerySearch): Promise<ListPage<FoundQuery>>;
  /** The run that `Executions.findLatest` finds. */
  findLatestRun(queryId: number, now: Instant): Promise<RunSummary | undefined>;
  /** The runs of a query in the order of `Executions.list`: newest first. */
  listRuns(filter: RunFilter): Promise<ListPage<RunSummary>>;
}
