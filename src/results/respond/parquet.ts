/**
 * The answer as a Parquet file: the parameters, pages and limits of every format, with real names and types. It is made and sent
 * as `parquet-exports.ts` says. It has no ETag, since DuckDB does not promise to write the same rows in the same bytes again.
 */
import { datapointsOf } from '../../domain/datapoints.ts';
import type { ReadLeases } from '../../leases/read-leases.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { Answer } from '../answer.ts';
import { pageRowsMax, type ReadPlan } from '../plan/read-plan.ts';
import type { ExportPage } from '../read/open-export.ts';
import { releaseAfter } from '../read/page.ts';
import type { ParquetExports } from '../read/parquet-exports.ts';
import { CONTENT_TYPES } from '../request/format.ts';
import type { ResultsRequest } from '../request/results-request.ts';
import { nextPageOf, pagingHeaders } from './next-page.ts';

export interface ParquetRequest {
  readonly request: ResultsRequest;
  readonly executionId: string;
  readonly plan: ReadPlan;
  /** What HTTP is told of how long the answer holds. */
  readonly cacheHeaders: Readonly<Record<string, string>>;
}

export interface ParquetDeps {
  readonly parquet: ParquetExports;
  readonly leases: ReadLeases;
}

export function respondParquet(
  { request, executionId, plan, cacheHeaders }: ParquetRequest,
  { page, rows }: ExportPage,
  { parquet, leases }: ParquetDeps,
  stats: RequestStats,
  signal: AbortSignal,
): Answer {
  const { columns, rowCount } = page;
  const next = nextPageOf(request, executionId, page, pageRowsMax(plan));
  const headers = { ...pagingHeaders(request, page, next), 'row-count': String(rowCount), ...cacheHeaders };
  // The rows are counted when the file has been written: of a file that was sent in part, none can be read.
  const written = parquet.chunks(rows, signal, (cellBytes) => {
    stats.add({ rowCount, cellBytes, datapoints: datapointsOf(rowCount, columns.length, cellBytes) });
  });
  const chunks = leases.during(executionId, releaseAfter(page, written));
  return {
    contentType: CONTENT_TYPES.parquet,
    headers,
    compressed: true,
    body: { kind: 'stream', chunks, size: undefined },
  };
}
