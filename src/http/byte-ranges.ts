/**
 * Ranges of answers whose bytes are all there (RFC 9110 §14). A range is of one representation: as it is, unless `If-Range` names the
 * answer in the encoding that the client accepts. So whoever continues what it has decoded gets bytes that fit, with or without
 * `If-Range`; and two representations are never joined.
 */
import type { FastifyRequest } from 'fastify';
import { type ByteRange, parseRange } from '../results/request/byte-range.ts';
import { encodedEtag } from '../results/respond/cache-policy.ts';
import { type Encoding, encodingVersion } from './compression.ts';

/** A range, and the encoding of the answer that it is a range of. */
export interface AskedRange {
  readonly range: ByteRange;
  readonly encoding: Encoding | undefined;
}

/**
 * The tag of an answer that is compressed while it is read. What a compressor makes of the same bytes depends on the pieces in which they
 * come. So the tag is weak: the answer is the same, but its compressed bytes may differ.
 */
export function streamedTagOf(etag: string, encoding: Encoding | undefined): string {
  return encoding === undefined ? etag : `W/${tagOf(etag, encoding)}`;
}

/** The tag of an answer that is sent as it is, or compressed in one piece. */
export function tagOf(etag: string, encoding: Encoding | undefined): string {
  return encodedEtag(etag, encoding && encodingVersion(encoding));
}

/**
 * @param etag of the answer as it is; undefined: nothing tells which answer a range would be of, so there are no ranges
 * @param accepted the encoding in which the whole would be sent
 * @returns undefined where the whole is sent: where no range is asked for, several are, or the range is of another answer
 */
export function askedRange(
  { method, headers }: Pick<FastifyRequest, 'method' | 'headers'>,
  etag: string | undefined,
  accepted: Encoding | undefined,
): AskedRange | undefined {
  const range = method === 'GET' ? parseRange(headers.range) : undefined;
  if (range === undefined || etag === undefined) return undefined;
  const condition = headers['if-range'];
  if (condition === undefined || condition === etag) return { range, encoding: undefined };
  return accepted !== undefined && condition === tagOf(etag, accepted) ? { range, encoding: accepted } : undefined;
}
