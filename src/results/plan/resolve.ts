/** From an id to the execution it means, if the caller may see it (contract §2: access, latest run). */
import type { AsOfSearch } from '../../domain/browsing.ts';
import { type Execution, STATES, stateAt } from '../../domain/execution.ts';
import { type Clock, formatInstant, type Instant } from '../../domain/instant.ts';
import { spelledAsInRuns } from '../../domain/parameter-values.ts';
import type { Principal } from '../../domain/principal.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import { PARAMETERS_MAX } from '../../domain/run-input.ts';
import { sumOf } from '../../domain/sum-of.ts';
import { RequestError } from '../../errors/errors.ts';
import type { CatalogCache, Latest, QueryAccess } from '../cache/catalog-cache.ts';
import type { QueryParameters } from '../request/query-string.ts';
import { asOfOf, queryParametersOf, type Target } from '../request/results-request.ts';
import { findReadableExecution, findReadableQuery } from './readable.ts';

/** @throws RequestError for a malformed id, an unknown one, one of another's, and a query that has never run */
export async function resolveTarget(
  target: Target,
  parameters: QueryParameters,
  principal: Principal,
  catalogCache: CatalogCache,
  now: Instant,
): Promise<Latest> {
  switch (target.kind) {
    case 'execution':
      return await resolveExecution(target.executionId, principal, catalogCache);
    case 'query':
    case 'dataset':
      return await resolveLatest(target, parameters, principal, catalogCache, now);
    default:
      return target satisfies never;
  }
}

async function resolveExecution(id: string, principal: Principal, catalogCache: CatalogCache): Promise<Latest> {
  const { execution, query } = await findReadableExecution(
    id,
    principal,
    (executionId) => catalogCache.execution(executionId),
    (queryId) => catalogCache.query(queryId),
  );
  return { execution, ...nameOf(query) };
}

async function resolveLatest(
  target: Exclude<Target, { readonly kind: 'execution' }>,
  parameters: QueryParameters,
  principal: Principal,
  catalogCache: CatalogCache,
  now: Instant,
): Promise<Latest> {
  const query = await findReadableQuery(target.queryId, principal, (queryId) => catalogCache.query(queryId));
  const id = Number(target.queryId);
  const given = queryParametersOf(parameters);
  // No run has more, and a look-up by thousands would be an expression too deep for the catalog.
  const isPossible = Object.keys(given).length <= PARAMETERS_MAX;
  const spellings = isPossible ? await spellingsOf(id, given, catalogCache) : [];
  const asOf = asOfOf(parameters, target.kind === 'query' ? target.asOf : undefined);
  if (asOf !== undefined && isPossible) {
    const search = { queryId: id, parameters: given, asOf, now };
    return { ...(await findAsOf(search, spellings, catalogCache)), ...nameOf(query) };
  }
  const latest = await newestOf(spellings, now, (values) => catalogCache.latest(id, values, now));
  if (latest === undefined) {
    throw new RequestError(
      'no_execution_found',
      'not found: No execution found for the latest version of the given query',
    );
  }
  return { ...latest, ...nameOf(query) };
}

type Values = Readonly<Record<string, string>>;

/** The values as they were asked for, as a result may have been published with them, and as a run of the service has them. */
async function spellingsOf(queryId: number, given: Values, catalogCache: CatalogCache): Promise<readonly Values[]> {
  if (Object.keys(given).length === 0) return [given];
  const inRuns = spelledAsInRuns(await catalogCache.queryParameters(queryId), given);
  const isSame = Object.entries(given).every(([name, value]) => inRuns[name] === value);
  return isSame ? [given] : [given, inRuns];
}

/** Of the runs found for each spelling: one with a result rather than one without, and then the newest. */
async function newestOf(
  spellings: readonly Values[],
  now: Instant,
  find: (values: Values) => Promise<Latest | undefined>,
): Promise<Latest | undefined> {
  const found = (await Promise.all(spellings.map(find))).filter((latest) => latest !== undefined);
  const hasResult = ({ execution }: Latest) => Number(STATES[stateAt(execution, now)].hasResult);
  const [newest] = found.sort(
    (a, b) => hasResult(b) - hasResult(a) || b.execution.submittedAt - a.execution.submittedAt,
  );
  return newest;
}

/** How many runs the error names, where no run had ended by the time asked for. */
const RUNS_NAMED_MAX = 3;

/** @throws RequestError no_execution_found, which says which runs there are */
async function findAsOf(search: AsOfSearch, spellings: readonly Values[], catalogCache: CatalogCache): Promise<Latest> {
  const find = (parameters: Values) => catalogCache.latestAsOf({ ...search, parameters });
  const latest = await newestOf(spellings, search.now, find);
  if (latest !== undefined) return latest;
  const oldest = (parameters: Values) => catalogCache.oldestStored({ ...search, parameters }, RUNS_NAMED_MAX);
  const pages = await Promise.all(spellings.map(oldest));
  const total = sumOf(pages, 'total');
  const items = pages
    .flatMap((page) => page.items)
    .sort((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0))
    .slice(0, RUNS_NAMED_MAX);
  const isAny = Object.keys(search.parameters).length === 0;
  const ofThese = isAny ? '' : ' with these parameters';
  const problem = `not found: no run of query ${search.queryId}${ofThese} that had ended by ${formatInstant(search.asOf)} has a stored result`;
  const ended = items.map(({ id, endedAt }) => `${formatInstant(endedAt ?? 0)} (${id})`).join(', ');
  const others = total > items.length ? ` and ${total - items.length} later` : '';
  const advice =
    total === 0
      ? `no other run${isAny ? '' : ' with them'} has one either`
      : `those that have one ended at ${ended}${others}`;
  throw new RequestError(
    'no_execution_found',
    `${problem}; ${advice}. /v1/query/${search.queryId}/executions lists all`,
  );
}

function nameOf({ name }: QueryAccess): Pick<Latest, 'queryName'> {
  return name === undefined ? {} : { queryName: name };
}

/** @throws RequestError */
export async function getResultSet({ id }: Execution, catalogCache: CatalogCache): Promise<ResultSet> {
  const resultSet = await catalogCache.resultSet(id);
  if (resultSet !== undefined) return resultSet;
  // Swept between the two look-ups.
  throw new RequestError('execution_not_found', `The requested execution ID (ID ${id}) was not found.`);
}

/** The errors of a read whose result has been deleted meanwhile: without a lease, and under one. */
const GONE: ReadonlySet<string> = new Set(['result_damaged', 'execution_not_found']);

/**
 * Whether a read failed on a result that the request no longer means: the result expired and was swept a moment ago, or parts of it are
 * missing and an older run is the latest now. Resolving again then says so.
 */
export async function wasReplaced(
  error: unknown,
  executionId: string | undefined,
  { target, parameters }: { readonly target: Target; readonly parameters: QueryParameters },
  principal: Principal,
  { catalogCache, clock }: { readonly catalogCache: CatalogCache; readonly clock: Clock },
): Promise<boolean> {
  if (!(error instanceof RequestError) || !GONE.has(error.code) || executionId === undefined) return false;
  await catalogCache.refresh();
  if ((await catalogCache.resultSet(executionId)) === undefined) return true;
  const { execution } = await resolveTarget(target, parameters, principal, catalogCache, clock());
  return execution.id !== executionId;
}
