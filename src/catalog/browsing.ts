/** Looking around in the catalog (contract §8): lists that are searched, counted and cut into pages by the database. */
import type { AsOfSearch, FoundQuery, ListPage, QuerySearch, RunFilter, RunSummary } from '../domain/browsing.ts';
import type { Execution } from '../domain/execution.ts';
import type { Instant } from '../domain/instant.ts';

export interface Browsing {
  /** Newest first; with a text nearest first: those with its words in their names before others. */
  searchQueries(search: QuerySearch): Promise<ListPage<FoundQuery>>;
  /** The run that `Executions.findLatest` finds. */
  findLatestRun(queryId: number, now: Instant): Promise<RunSummary | undefined>;
  /**
   * The newest run, in the order of `Executions.list`, that had ended by `asOf` and has a stored result not expired at `now`. As if there were
   * no runs with the ids in `except`.
   */
  findLatestAsOf(search: AsOfSearch, except?: readonly string[]): Promise<Execution | undefined>;
  /** The runs with stored results, oldest first: the first `limit`, and how many there are. */
  listOldestStored(search: Omit<AsOfSearch, 'asOf'>, limit: number): Promise<ListPage<Execution>>;
  /** The runs of a query in the order of `Executions.list`: newest first. */
  listRuns(filter: RunFilter): Promise<ListPage<RunSummary>>;
}
