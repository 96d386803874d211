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
import { keepPage } from './cache/finished-pages.ts';
import type { ResultsDeps } from './deps.ts';
import { planRead } from './plan/read-plan.ts';
import { getResultSet, resolveTarget, wasReplaced } from './plan/resolve.ts';
import { openPage } from './read/open-page.ts';
import { requireFormat, type TextFormat } from './request/format.ts';
import {
  asksForNewSample,
  parseSharedParameters,
  type ResultsRequest,
  requireSameTarget,
} from './request/results-request.ts';
import { answerIdentity } from './respond/answer-identity.ts';
import { cacheHeadersOf, etagOf, matchesEtag, sampleHeadersOf } from './respond/cache-policy.ts';
import { respondUnchanged, respondWithoutResult } from './respond/envelope-answer.ts';
import { fileHeaders } from './respond/file-name.ts';
import { type ParquetRequest, respondKeptParquet, respondParquet } from './respond/parquet.ts';
import { requireWhole, shownState } from './respond/partial-result.ts';
import { respondLarge, type StreamRequest } from './respond/stream-answer.ts';
import { finishText, type OpenedAnswer, respondFinished, respondText, type TextRequest } from './respond/text.ts';

/** In characters. */
const LONG_FILTER = 4000;

/** A request that has been planned, and all that is known of its answer. */
export type PlannedRequest = TextRequest & ParquetRequest & StreamRequest;

/** @throws RequestError */
export async function answerResults(
  request: ResultsRequest,
  principal: Principal,
  deps: ResultsDeps,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    return await answerOnce(request, principal, deps, stats, signal);
  } catch (error) {
    if (!(await wasReplaced(error, stats.executionId, request, principal, deps))) throw error;
    return await answerOnce(request, principal, deps, stats, signal);
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
  const identity = answerIdentity(request, execution, shown, settings, words);
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
  const asked: PlannedRequest = { ...planned, words, known, cacheHeaders };
  if (format !== 'parquet') return await answerText(asked, format, deps, stats, signal);
  const { segmentIndexes } = caches;
  return await timed('open', () => respondParquet(asked, { ...deps, segmentIndexes }, stats, signal));
}

/** Stages 5 to 7 of the formats that are text. Whoever asks for the same page at the same time waits for one read. */
export async function answerText(
  asked: PlannedRequest,
  format: TextFormat,
  { read, caches, monotonic }: Pick<ResultsDeps, 'read' | 'caches' | 'monotonic'>,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer> {
  const { known, cacheHeaders } = asked;
  const { ifNoneMatch } = asked.request;
  const timed = <T>(name: string, work: () => T | Promise<T>) => stats.stage(name, monotonic, work);
  if (known && matchesEtag(ifNoneMatch, known.etag)) return respondUnchanged(format, known.etag, cacheHeaders);
  const open = async (): Promise<OpenedAnswer> => {
    const page = await timed('open', () => openPage(asked, format, read, signal));
    const answer = respondText(asked, format, page);
    return page.small ? await timed('read', () => finishText(answer, signal)) : answer;
  };
  const { value: opened, isShared } =
    known === undefined
      ? { value: await open(), isShared: false }
      : await caches.opening.run(known.identity, signal, open, ({ kind }) => kind === 'finished');
  if (opened.kind === 'large') {
    return await respondLarge(asked, opened, { ...caches, leases: read.leases }, stats, signal);
  }
  const isKept = known !== undefined && keepPage(caches, known.identity, { ...opened.page, etag: known.etag });
  const isOwn = !isKept && !isShared;
  return respondFinished({ ...opened.page, isOwn }, known?.etag, cacheHeaders, ifNoneMatch, stats);
}
