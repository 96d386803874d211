/**
 * A request whose result has been found and may be seen, before it is planned: what tells its answer from all others, and what the headers say of it.
 * So an answer that is kept is given without a look at columns or rows.
 */
import type { QueryWords } from '../domain/column-descriptions.ts';
import { type Execution, type ExecutionState, stateAt } from '../domain/execution.ts';
import type { Instant } from '../domain/instant.ts';
import type { RequestStats } from '../observation/request-stats.ts';
import type { Answer } from './answer.ts';
import type { Latest } from './cache/catalog-cache.ts';
import type { ResultsDeps } from './deps.ts';
import { asksForNewSample, type ResultsRequest } from './request/results-request.ts';
import { answerIdentity } from './respond/answer-identity.ts';
import { cacheHeadersOf, sampleHeadersOf } from './respond/cache-policy.ts';
import { respondKeptParquet } from './respond/parquet.ts';
import { shownState } from './respond/partial-result.ts';
import { respondFinished } from './respond/text.ts';

export interface IdentifiedRequest {
  readonly request: ResultsRequest;
  readonly execution: Execution;
  /** The state that the reader is shown, see partial-result.ts. */
  readonly state: ExecutionState;
  /** What a Parquet file says of the query. */
  readonly words: QueryWords | undefined;
  readonly identity: string;
  /** The identity of the answer to another request for the same rows. */
  readonly identify: (request: ResultsRequest) => string;
  /** Whether it is a sample without a seed, which is another one each time: no answer to it is kept. */
  readonly isNewSample: boolean;
  /** The headers that say how long the answer may be kept, and those that were given. */
  readonly cacheHeaders: Readonly<Record<string, string>>;
}

/**
 * @param rowsName tells rows that are made of the execution's from these; undefined: they are these
 * @param headers further ones of the answer
 */
export async function identified(
  request: ResultsRequest,
  found: Latest,
  { rowsName, headers }: { readonly rowsName?: string; readonly headers?: Answer['headers'] },
  { catalogCache, settings }: Pick<ResultsDeps, 'catalogCache' | 'settings'>,
  now: Instant,
): Promise<IdentifiedRequest> {
  const { parameters, format, cachePolicy } = request;
  const { execution } = found;
  const state = shownState(stateAt(execution, now), settings.partialAsCompleted);
  const isNewSample = asksForNewSample(parameters);
  const words = format === 'parquet' ? await catalogCache.queryWords(execution.queryId) : undefined;
  const encoder = rowsName === undefined ? settings.encoder : `${settings.encoder} ${rowsName}`;
  const answerSettings = { encoder, datapointsMax: settings.datapointsMax };
  const identify = (asked: ResultsRequest) => answerIdentity(asked, execution, state, answerSettings, words);
  const kept = isNewSample ? sampleHeadersOf(found) : cacheHeadersOf(cachePolicy, found, now);
  return {
    request,
    execution,
    state,
    words,
    identity: identify(request),
    identify,
    isNewSample,
    cacheHeaders: { ...kept, ...headers },
  };
}

/** The answer, where it is in memory. */
export function answerFromMemory(
  { request, identity, isNewSample, cacheHeaders }: IdentifiedRequest,
  { pages }: Pick<ResultsDeps['caches'], 'pages'>,
  stats: RequestStats,
): Answer | undefined {
  const finished = isNewSample ? undefined : pages.get(identity);
  stats.cache = finished === undefined ? 'miss' : 'hit';
  return finished && respondFinished(finished, finished.etag, cacheHeaders, request.ifNoneMatch, stats);
}

/** The answer, where a Parquet file is asked for that has been written before. */
export async function answerFromFile(
  { request, identity, isNewSample, cacheHeaders }: IdentifiedRequest,
  deps: Pick<ResultsDeps, 'parquet'>,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  if (request.format !== 'parquet' || isNewSample) return undefined;
  return await respondKeptParquet(identity, { request, cacheHeaders }, deps, stats, signal);
}
