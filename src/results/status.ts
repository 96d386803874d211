/** The status endpoint: the envelope without rows, what is known of the whole result, the place in the queue, how far the run is. */
import { STATES, stateAt } from '../domain/execution.ts';
import type { Principal } from '../domain/principal.ts';
import type { RequestStats } from '../observation/request-stats.ts';
import type { Answer } from './answer.ts';
import type { ResultsDeps } from './deps.ts';
import { getResultSet, resolveTarget } from './plan/resolve.ts';
import { type ResultsRequest, requireSameTarget } from './request/results-request.ts';
import { respondStatus } from './respond/envelope-answer.ts';
import { shownState } from './respond/partial-result.ts';

/** @throws RequestError */
export async function answerStatus(
  request: ResultsRequest,
  principal: Principal,
  deps: Pick<ResultsDeps, 'catalogCache' | 'clock' | 'monotonic' | 'queuePosition' | 'runProgress' | 'settings'>,
  stats: RequestStats,
): Promise<Answer> {
  const { target, parameters } = request;
  const { catalogCache } = deps;
  const now = deps.clock();
  const resolving = () => resolveTarget(target, new Map(), principal, catalogCache, now);
  const { execution } = await stats.stage('resolve', deps.monotonic, resolving);
  stats.executionId = execution.id;
  stats.queryId = execution.queryId;
  requireSameTarget(parameters, target);
  const state = stateAt(execution, now);
  const resultSet = STATES[state].hasResult ? await getResultSet(execution, catalogCache) : undefined;
  const queuePosition = state === 'PENDING' ? await deps.queuePosition(execution) : undefined;
  const progress = state === 'EXECUTING' ? await deps.runProgress(execution.id) : undefined;
  const shown = shownState(state, deps.settings.partialAsCompleted);
  return respondStatus(request, { execution, state, shownState: shown, resultSet, queuePosition, progress }, now);
}
