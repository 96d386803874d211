/**
 * A request for results, from the principal to the answer, in the stages of ARCHITECTURE.md. Stage 1, authenticate, has been done when
 * a request comes here, and stage 5, compile, is part of stage 6. Their order is the order in which a request is checked (contract
 * §4): identifier and access, state, parameters, limits.
 */
import { STATES, stateAt } from '../domain/execution.ts';
import type { Principal } from '../domain/principal.ts';
import type { RequestStats } from '../observation/request-stats.ts';
import type { Answer } from './answer.ts';
import { answerAnew } from './answer-anew.ts';
import { answerPlanned, planned } from './answer-planned.ts';
import type { ResultsDeps } from './deps.ts';
import { answerFromFile, answerFromMemory, identified } from './identified.ts';
import { getResultSet, resolveTarget, wasReplaced } from './plan/resolve.ts';
import { type ResultsRequest, requireSameTarget } from './request/results-request.ts';
import { respondWithoutResult } from './respond/envelope-answer.ts';
import { fileHeaders } from './respond/file-name.ts';
import { requireWhole } from './respond/partial-result.ts';

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
  const { target, parameters, format } = request;
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

  // Answered before: the same page again, or the same file.
  const asked = await identified(request, found, { headers: fileHeaders(found, format) }, deps, now);
  const finished = answerFromMemory(asked, caches, stats);
  if (finished !== undefined) return { ...finished, terms: { catalogVersion, execution } };
  const kept = await answerFromFile(asked, deps, stats, signal);
  if (kept !== undefined) return kept;

  // 3 parse, 4 plan
  const resultSet = await getResultSet(execution, catalogCache);
  const plan = await timed('plan', () => planned(request, resultSet, deps));

  // 5 compile, 6 read, 7 respond
  return await answerPlanned(asked, { resultSet, plan, keyId: principal.keyId }, deps, stats, signal);
}
