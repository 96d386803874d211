/**
 * The body of an answer that is sent as it is read: all of it, or the bytes that a client is missing. The read lease is held from the
 * first row that is read, also by the pass that only finds out where the bytes are.
 */
import type { Tally } from '../observation/tally.ts';
import type { AnswerBody } from './answer.ts';
import { sliceOf } from './byte-range.ts';
import type { ResultsDeps } from './pipeline.ts';
import type { PageOfRows } from './read.ts';
import { holding } from './read-leases.ts';
import type { ResultsRequest } from './request.ts';
import { releasing } from './respond.ts';
import { type Encode, measured, type Passage, recorded, sliced } from './resumable.ts';

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
  { leases, passages }: Pick<ResultsDeps, 'leases' | 'passages'>,
  tally: Tally,
  signal: AbortSignal,
): Promise<AnswerBody> {
  const { range, ifRange, wantsDigest } = request;
  const known = etag === undefined ? undefined : passages.get(identity);
  const keep = (passage: Passage) => {
    const sha256 = passage.sha256 ?? passages.get(identity)?.sha256;
    passages.put(identity, { ...passage, sha256 });
  };
  const isRange = range !== undefined && etag !== undefined && (ifRange === undefined || ifRange === etag);
  const isMeasured =
    (isRange && known === undefined) || (wantsDigest && etag !== undefined && known?.sha256 === undefined);
  let lease: AsyncDisposable | undefined;
  try {
    let passage = known;
    if (isMeasured) {
      lease = await leases.hold(executionId);
      // The first to resume a download since the service started, or to want its digest, pays for a pass that tells.
      passage = await measured(page, encode, wantsDigest, signal);
      keep(passage);
    }
    const held = (chunks: AsyncGenerator<Uint8Array>) => {
      const given = releasing(page, chunks);
      return lease === undefined ? leases.during(executionId, given) : holding(lease, given);
    };
    if (isRange && passage !== undefined) {
      const slice = sliceOf(range, passage.bytes);
      const chunks = held(sliced(page, encode, passage, slice, tally, signal));
      return { kind: 'partial', chunks, slice, size: passage };
    }
    return { kind: 'stream', chunks: held(recorded(page, encode, tally, signal, keep)), size: passage };
  } catch (error) {
    page.release();
    await lease?.[Symbol.asyncDispose]();
    throw error;
  }
}
