/**
 * A request for results, from the principal to the answer, in the stages of ARCHITECTURE.md. Stage 1, authenticate, has been done when
 * a request comes here, and stage 5, compile, is part of stage 6. Their order is the order in which a request is checked (contract
 * §4): identifier and access, state, parameters, limits.
 */
import { STATES, stateAt } from '../domain/execution.ts';
import type { Principal } from '../domain/principal.ts';
import { letOthersRun } from '../domain/time.ts';
import type { RequestStats } from '../observation/request-stats.ts';
import type { Answer } from './answer.ts';
import { answerAnew } from './answer-anew.ts';
import { answerText, type PlannedRequest } from './answer-text.ts';
import type { ResultsDeps } from './deps.ts';
import { planRead } from './plan/read-plan.ts';
import { getResultSet, resolveTarget, wasReplaced } from './plan/resolve.ts';
import { requireFormat } from './request/format.ts';
import {
  asksForNewSample,
  parseSharedParameters,
  type ResultsRequest,
  requireSameTarget,
} from './request/results-request.ts';
import { answerIdentity } from './respond/answer-identity.ts';
import { cacheHeadersOf, etagOf, sampleHeadersOf } from './respond/cache-policy.ts';
import { respondWithoutResult } from './respond/envelope-answer.ts';
import { fileHeaders } from './respond/file-name.ts';
import { respondKeptParquet, respondParquet } from './respond/parquet.ts';
import { requireWhole, shownState } from './respond/partial-result.ts';
import { respondFinished } from './respond/text.ts';

/** In characters. */
const LONG_FILTER = 4000;

/** @throws RequestError */
export async function answerResults(
  request: ResultsRequest,
  principal: Principal,
  deps: ResultsDeps,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer> {
  const answer = () => answerAnew(request, (asked) => answerOnce(asked, principal, deps, stats, signal));
  try {
    return await answer();
  } catch (error) {
    if (!(await wasReplaced(error, stats.executionId, request, principal, deps))) throw error;
    return await answer();
  }
}

async function answerOnce(
  request: ResultsRequest,
  principal: Principal,
  deps: ResultsDeps,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer> {
  const { target, parameters, format, cachePolicy } = request;
  const { keyId } = principal;
  const { catalogCache, caches, settings } = deps;
  const timed = <T>(name: string, work: () => T | Promise<T>) => stats.stage(name, deps.monotonic, work);
  const now = deps.clock();
  // Read before the look-ups: a commit that happens while this request is answered must make what they found stale.
  const catalogVersion = catalogCache.version;

  // 2 resolve
  const found = await timed('resolve', () => resolveTarget(target, parameters, principal, catalogCache, now));
  const { execution } = found;
  stats.executionId = execution.id;
  stats.queryId = execution.queryId;
  const state = stateAt(execution, now);
  if (!STATES[state].hasResult) return respondWithoutResult(request, execution, state, now);
  requireWhole(state, execution, request, settings.partialAsCompleted);
  requireSameTarget(parameters, target);

  // Answered before: the same page again. A sample without a seed is another one each time.
  const shown = shownState(state, settings.partialAsCompleted);
  const isNewSample = asksForNewSample(parameters);
  const words = format === 'parquet' ? await catalogCache.queryWords(execution.queryId) : undefined;
  const identify = (asked: ResultsRequest) => answerIdentity(asked, execution, shown, settings, words);
  const identity = identify(request);
  const named = fileHeaders(found, format);
  const cacheHeaders = {
    ...(isNewSample ? sampleHeadersOf(found) : cacheHeadersOf(cachePolicy, found, now)),
    ...named,
  };
  const finished = isNewSample ? undefined : caches.pages.get(identity);
  stats.cache = finished === undefined ? 'miss' : 'hit';
  if (finished !== undefined) {
    const answer = respondFinished(finished, finished.etag, cacheHeaders, request.ifNoneMatch, stats);
    return { ...answer, terms: { catalogVersion, execution } };
  }
  if (format === 'parquet' && !isNewSample) {
    const kept = await respondKeptParquet(identity, { request, cacheHeaders }, deps, stats, signal);
    if (kept !== undefined) return kept;
  }

  // 3 parse, 4 plan
  const resultSet = await getResultSet(execution, catalogCache);
  const plan = await timed('plan', async () => {
    requireFormat(parameters, format);
    const planned = planRead(parseSharedParameters(parameters), format, resultSet, settings);
    // To compile a long filter takes as many milliseconds as to plan it.
    if ((parameters.get('filters')?.[0]?.length ?? 0) > LONG_FILTER) await letOthersRun();
    return planned;
  });

  // 5 compile, 6 read, 7 respond
  const known = isNewSample ? undefined : { identity, etag: etagOf(identity) };
  const tellWay = (way: string) => {
    stats.way = way;
  };
  const planned = { request, execution, executionId: execution.id, state: shown, resultSet, plan, keyId, tellWay };
  const asked: PlannedRequest = { ...planned, words, known, identify, cacheHeaders };
  if (format !== 'parquet') return await answerText(asked, format, deps, stats, signal);
  const { segmentIndexes } = caches;
  return await timed('open', () => respondParquet(asked, { ...deps, segmentIndexes }, stats, signal));
}
