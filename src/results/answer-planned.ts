/** Stages 4 to 7 of a request that nothing kept answers: it is planned, and its rows are read. */
import type { ResultSet } from '../domain/result-set.ts';
import { letOthersRun } from '../domain/time.ts';
import type { RequestStats } from '../observation/request-stats.ts';
import type { Answer } from './answer.ts';
import { answerText, type PlannedRequest } from './answer-text.ts';
import type { ResultsDeps } from './deps.ts';
import type { IdentifiedRequest } from './identified.ts';
import { planRead, type ReadPlan } from './plan/read-plan.ts';
import { requireFormat } from './request/format.ts';
import { parseSharedParameters, type ResultsRequest } from './request/results-request.ts';
import { etagOf } from './respond/cache-policy.ts';
import { respondParquet } from './respond/parquet.ts';

/** A filter of more characters takes milliseconds to plan, and as long to compile. */
const LONG_FILTER = 4000;

/** @throws RequestError for parameters that are wrong, or do not fit the columns */
export async function planned(
  { parameters, format }: ResultsRequest,
  resultSet: ResultSet,
  { settings }: Pick<ResultsDeps, 'settings'>,
): Promise<ReadPlan> {
  requireFormat(parameters, format);
  const plan = planRead(parseSharedParameters(parameters), format, resultSet, settings);
  // Other requests have a turn between planning and compiling.
  if ((parameters.get('filters')?.[0]?.length ?? 0) > LONG_FILTER) await letOthersRun();
  return plan;
}

type Rows = Pick<PlannedRequest, 'resultSet' | 'plan' | 'rowsOf' | 'metadata' | 'keyId'>;

/** @throws RequestError */
export async function answerPlanned(
  identified: IdentifiedRequest,
  rows: Rows,
  deps: Pick<ResultsDeps, 'read' | 'caches' | 'monotonic' | 'settings' | 'parquet'>,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer> {
  const { request, execution, identity, isNewSample } = identified;
  const asked: PlannedRequest = {
    ...identified,
    ...rows,
    executionId: execution.id,
    known: isNewSample ? undefined : { identity, etag: etagOf(identity) },
    tellWay: (way) => {
      stats.way = way;
    },
  };
  if (request.format !== 'parquet') return await answerText(asked, request.format, deps, stats, signal);
  const { segmentIndexes } = deps.caches;
  const respond = () => respondParquet(asked, { ...deps, segmentIndexes }, stats, signal);
  return await stats.stage('open', deps.monotonic, respond);
}
