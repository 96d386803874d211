/**
 * An answer that is sent while it is read: all of it, or the bytes that a client is missing. The read lease is held from the
 * first row that is read, also when that is in the pass that only measures.
 */
import { holding } from '../../leases/read-leases.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { Answer, AnswerBody } from '../answer.ts';
import type { LruBytes } from '../cache/lru-bytes.ts';
import type { SegmentIndex } from '../cache/segment-index.ts';
import type { ReadDeps } from '../read/open-page.ts';
import { releaseAfter } from '../read/page.ts';
import { resolveRange } from '../request/byte-range.ts';
import type { ResultsRequest } from '../request/results-request.ts';
import { priceHeaders } from './price-headers.ts';
import { measureSegments, readSlice, recordSegments, type StreamSource } from './resumable.ts';
import type { LargeAnswer } from './text.ts';

export interface StreamDeps extends Pick<ReadDeps, 'leases'> {
  readonly segmentIndexes: LruBytes<SegmentIndex>;
}

export interface StreamRequest {
  readonly request: ResultsRequest;
  readonly executionId: string;
  /** What the bytes depend on, and their tag. Undefined: the same request may get other bytes next time. */
  readonly known: { readonly identity: string; readonly etag: string } | undefined;
  /** The headers that say how long the answer may be kept. */
  readonly cacheHeaders: Readonly<Record<string, string>>;
}

/** @throws RequestError range_not_satisfiable, and what a read throws; then the page has been released */
export async function respondLarge(
  asked: StreamRequest,
  large: LargeAnswer,
  deps: StreamDeps,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<Answer> {
  const { contentType, page } = large;
  const headers = { ...large.headers, ...asked.cacheHeaders, ...priceHeaders(page) };
  const body = await streamBody(asked, large, deps, stats, signal);
  return { contentType, headers, ...(asked.known && { etag: asked.known.etag }), body };
}

async function streamBody(
  { request, executionId, known }: StreamRequest,
  source: StreamSource,
  { leases, segmentIndexes }: StreamDeps,
  stats: RequestStats,
  signal: AbortSignal,
): Promise<AnswerBody> {
  const { range, ifRange, wantsDigest } = request;
  const { page } = source;
  const kept = known && segmentIndexes.get(known.identity);
  const keep = (index: SegmentIndex) => {
    if (known === undefined) return;
    const sha256 = index.sha256 ?? segmentIndexes.get(known.identity)?.sha256;
    segmentIndexes.put(known.identity, { ...index, sha256 });
  };
  const isRange = range !== undefined && known !== undefined && (ifRange === undefined || ifRange === known.etag);
  const wantsMissingDigest = wantsDigest && known !== undefined && kept?.sha256 === undefined;
  let lease: AsyncDisposable | undefined;
  try {
    let index = kept;
    if ((isRange && kept === undefined) || wantsMissingDigest) {
      lease = await leases.hold(executionId);
      // The first request for a range or for the digest waits for a pass over the whole answer.
      index = await measureSegments(source, wantsDigest, signal);
      keep(index);
    }
    const held = (chunks: AsyncGenerator<Uint8Array>) => {
      const given = releaseAfter(page, chunks);
      return lease === undefined ? leases.during(executionId, given) : holding(lease, given);
    };
    if (isRange && index !== undefined) {
      const slice = resolveRange(range, index.bytes);
      const chunks = held(readSlice(source, index, slice, stats, signal));
      return { kind: 'partial', chunks, slice, size: index };
    }
    if (request.isHead) {
      page.release();
      await lease?.[Symbol.asyncDispose]();
      return { kind: 'head', size: index };
    }
    return { kind: 'stream', chunks: held(recordSegments(source, stats, signal, keep)), size: index };
  } catch (error) {
    page.release();
    await lease?.[Symbol.asyncDispose]();
    throw error;
  }
}
