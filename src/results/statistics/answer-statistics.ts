/**
 * `GET /v1/execution/{id}/statistics` (contract §8): the columns of a result in numbers. They are made once for each column, and kept in memory
 * and on disk.
 */
import { formatState, STATES, stateAt } from '../../domain/execution.ts';
import type { Principal } from '../../domain/principal.ts';
import type { Column } from '../../domain/result-set.ts';
import { RequestError } from '../../errors/errors.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { Answer } from '../answer.ts';
import type { ResultsDeps } from '../deps.ts';
import { STATISTICS_FORMAT } from '../derived/statistics-files.ts';
import { columnIndex } from '../plan/find-column.ts';
import { getResultSet, resolveTarget } from '../plan/resolve.ts';
import { parseColumnNames } from '../request/columns-parameter.ts';
import { parameterOf } from '../request/query-string.ts';
import { type ResultsRequest, requireSameTarget } from '../request/results-request.ts';
import { cacheHeadersOf, etagOf, matchesEtag } from '../respond/cache-policy.ts';
import { respondUnchanged } from '../respond/envelope-answer.ts';
import { requireWhole } from '../respond/partial-result.ts';
import { columnStatistics } from './column-statistics.ts';

/** Columns of one answer: each takes up to three passes over its values. */
export const STATISTICS_COLUMNS_MAX = 100;

/** @throws RequestError */
export async function answerStatistics(
  request: ResultsRequest,
  principal: Principal,
  deps: ResultsDeps,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer> {
  const { target, parameters, cachePolicy, ifNoneMatch } = request;
  const now = deps.clock();
  const resolving = () => resolveTarget(target, new Map(), principal, deps.catalogCache, now);
  const found = await stats.stage('resolve', deps.monotonic, resolving);
  const { execution } = found;
  stats.executionId = execution.id;
  stats.queryId = execution.queryId;
  const state = stateAt(execution, now);
  if (!STATES[state].hasResult) {
    const problem = `Query state is ${formatState(state)}, cannot provide statistics`;
    throw new RequestError('no_result', problem, { body: { state: formatState(state) } });
  }
  requireWhole(state, execution, request, deps.settings.partialAsCompleted);
  requireSameTarget(parameters, target);
  const resultSet = await getResultSet(execution, deps.catalogCache);
  const indexes = columnsAsked(parameterOf(parameters, 'columns'), resultSet.columns);
  // A run that was put back by a restore and stored once more has other rows under the same id, and another end.
  const stored = `${execution.id} ${execution.expiresAt}`;
  const etag = etagOf(`statistics ${STATISTICS_FORMAT} ${stored} ${deps.settings.encoder} ${indexes.join(',')}`);
  const headers = cacheHeadersOf(cachePolicy, found, now);
  if (matchesEtag(ifNoneMatch, etag)) return respondUnchanged('json', etag, headers);
  const { kept, files, reading } = deps.statistics;
  const columns: string[] = [];
  const read = async (index: number) => {
    const name = `${execution.id} ${index}`;
    const before = kept.get(name);
    if (before !== undefined) return before;
    const origin = { executionId: execution.id, resultSet, index };
    const making = async () => {
      const found = await files.find(origin);
      if (found !== undefined) return found;
      const json = await columnStatistics(resultSet, index, principal.keyId, deps.read, signal);
      await files.keep(origin, json);
      return json;
    };
    const { value: made } = await reading.run(name, signal, making, () => true);
    kept.put(name, made);
    return made;
  };
  // For HEAD no statistics are made.
  if (!request.isHead) {
    await stats.stage('read', deps.monotonic, async () => {
      for (const index of indexes) columns.push(await read(index));
    });
  }
  const ids = `"execution_id":"${execution.id}","query_id":${execution.queryId},"row_count":${resultSet.rowCount}`;
  const body = Buffer.from(`{${ids},"columns":[${columns.join(',')}]}`);
  const contentType = 'application/json';
  if (request.isHead) return { contentType, headers, etag, body: { kind: 'head', size: undefined } };
  return { contentType, headers, etag, body: { kind: 'whole', byteChunks: [body] } };
}

/** @throws RequestError unknown_column · invalid_parameter */
function columnsAsked(names: string | undefined, columns: readonly Column[]): readonly number[] {
  const indexes =
    names === undefined
      ? columns.map((_, index) => index)
      : parseColumnNames(names).map((name) => columnIndex(name, columns));
  if (indexes.length <= STATISTICS_COLUMNS_MAX) return [...new Set(indexes)];
  throw new RequestError(
    'invalid_parameter',
    `columns: ${indexes.length} columns at once, expected at most ${STATISTICS_COLUMNS_MAX}; name them, some at a time`,
  );
}
