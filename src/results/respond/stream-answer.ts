/**
 * The body of an answer that is sent as it is read: all of it, or the bytes that a client is missing. The read lease is held from the
 * first row that is read, also by the pass that only finds out where the bytes are.
 */

import { holding } from '../../leases/read-leases.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { AnswerBody } from '../answer.ts';
import type { ResultsDeps } from '../pipeline.ts';
import type { PageOfRows } from '../read/page.ts';
import { resolveRange } from '../request/byte-range.ts';
import type { ResultsRequest } from '../request/results-request.ts';
import { releaseAfter } from './respond.ts';
import { type Encode, measureSegments, readSlice, recordSegments, type SegmentIndex } from './resumable.ts';

export interface StreamedAnswer {
  readonly request: ResultsRequest;
  readonly executionId: string;
  readonly identity: string;
  readonly etag: string | undefined;
  readonly page: PageOfRows;
  readonly encode: Encode;
}

/** @throws RequestError range_not_satisfiable, and what a read throws; then the page has been given back */
export async function streamBody(
  { request, executionId, identity, etag, page, encode }: StreamedAnswer,
  { leases, segmentIndexes }: Pick<ResultsDeps, 'leases' | 'segmentIndexes'>,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<AnswerBody> {
  const { range, ifRange, wantsDigest } = request;
  const known = etag === undefined ? undefined : segmentIndexes.get(identity);
  const keep = (segmentIndex: SegmentIndex) => {
    const sha256 = segmentIndex.sha256 ?? segmentIndexes.get(identity)?.sha256;
    segmentIndexes.put(identity, { ...segmentIndex, sha256 });
  };
  const isRange = range !== undefined && etag !== undefined && (ifRange === undefined || ifRange === etag);
  const isMeasured =
    (isRange && known === undefined) || (wantsDigest && etag !== undefined && known?.sha256 === undefined);
  let lease: AsyncDisposable | undefined;
  try {
    let segmentIndex = known;
    if (isMeasured) {
      lease = await leases.hold(executionId);
      // The first to resume a download since the service started, or to want its digest, pays for a pass that tells.
      segmentIndex = await measureSegments(page, encode, wantsDigest, signal);
      keep(segmentIndex);
    }
    const held = (chunks: AsyncGenerator<Uint8Array>) => {
      const given = releaseAfter(page, chunks);
      return lease === undefined ? leases.during(executionId, given) : holding(lease, given);
    };
    if (isRange && segmentIndex !== undefined) {
      const slice = resolveRange(range, segmentIndex.bytes);
      const chunks = held(readSlice(page, encode, segmentIndex, slice, stats, signal));
      return { kind: 'partial', chunks, slice, size: segmentIndex };
    }
    return { kind: 'stream', chunks: held(recordSegments(page, encode, stats, signal, keep)), size: segmentIndex };
  } catch (error) {
    page.release();
    await lease?.[Symbol.asyncDispose]();
    throw error;
  }
}
