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
 * The tag of the answer as it is sent by one who compresses it as it is read. What a compressor makes of the same bytes depends on the pieces that they
 * come in, so the tag is a weak one: it says that the answer is the same, and not its bytes.
 */
export function streamedTagOf(etag: string, encoding: Encoding | undefined): string {
  return encoding === undefined ? etag : `W/${tagOf(etag, encoding)}`;
}

/** The tag of the answer as it is sent, compressed in one piece if at all. */
export function tagOf(etag: string, encoding: Encoding | undefined): string {
  return encodedEtag(etag, encoding && encodingVersion(encoding));
}

/**
 * @param etag of the answer as it is; without one there is nothing that a range could be known to be a range of
 * @param accepted the encoding in which the whole would be sent
 * @returns undefined where the whole answers: no range is asked for, one of another answer, or several
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
