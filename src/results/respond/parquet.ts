/**
 * The answer as a Parquet file: the parameters, pages and limits of every format, with real names and types. It is made and sent
 * as `parquet-exports.ts` says, and has no ETag: that the same rows would be written in the same bytes again is nothing that
 * DuckDB promises.
 */
import { datapointsOf } from '../../domain/datapoints.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { Answer } from '../answer.ts';
import type { ResultsDeps } from '../pipeline.ts';
import { pageRowsMax, type ReadPlan } from '../plan/read-plan.ts';
import { openExport } from '../read/open-export.ts';
import { CONTENT_TYPES } from '../request/format.ts';
import type { ResultsRequest } from '../request/results-request.ts';
import { nextPageOf, pagingHeaders, releaseAfter } from './respond.ts';

export interface ParquetRequest {
  readonly request: ResultsRequest;
  readonly executionId: string;
  readonly plan: ReadPlan;
  readonly resultSet: ResultSet;
  readonly keyId: string;
  /** Headers that say how long the answer holds. */
  readonly cachePolicy: Readonly<Record<string, string>>;
}

/** @throws RequestError unsupported_column · datapoint_limit · rate_limited · overloaded · read_timeout · result_damaged */
export async function answerParquet(
  { request, executionId, plan, resultSet, keyId, cachePolicy }: ParquetRequest,
  deps: ResultsDeps,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer> {
  const { page, rows } = await stats.stage('open', deps.monotonic, () =>
    openExport(executionId, plan, resultSet, keyId, deps, signal),
  );
  const { columns, rowCount } = page;
  const next = nextPageOf(request, executionId, page, pageRowsMax(plan));
  const headers = { ...pagingHeaders(request, page, next), 'row-count': String(rowCount), ...cachePolicy };
  // Its rows are counted when the file has been written: of a file that was sent in part, none can be read.
  const written = deps.parquet.chunks(rows, signal, (cellBytes) => {
    stats.add({ rowCount, cellBytes, datapoints: datapointsOf(rowCount, columns.length, cellBytes) });
  });
  const chunks = deps.leases.during(executionId, releaseAfter(page, written));
  return {
    contentType: CONTENT_TYPES.parquet,
    headers,
    compressed: true,
    body: { kind: 'stream', chunks, size: undefined },
  };
}
