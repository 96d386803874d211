/** All that the package query-results-client exports. */
export {
  type AnyRow,
  type Options,
  QueryResults,
  type Read,
  type RunOptions,
  type RunProgress,
  type RunStatus,
} from './client.ts';
export { IncompleteResult, QueryResultsError, RunFailed, ServiceError } from './errors.ts';
export type { Column, Page, Table } from './pages.ts';
export type { Filter, Parameters, Target } from './target.ts';
export type { Value } from './values.ts';
