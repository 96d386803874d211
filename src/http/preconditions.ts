/**
 * `If-Match` and `If-Unmodified-Since` (RFC 9110 §13.1): only of the answer that the client knows. Whoever fetches an answer in pieces sends
 * them with each: without them, a query's next run would give the rest of the bytes.
 */
import type { FastifyRequest } from 'fastify';
import { shortened } from '../domain/shortened.ts';
import { RequestError } from '../errors/errors.ts';
import { matchedTag } from '../results/respond/cache-policy.ts';

/**
 * @param etag of the answer as it is; undefined: the same request may be answered in other bytes
 * @param lastModified undefined: there is no such time
 * @throws RequestError precondition_failed
 */
export function requireUnchanged(
  { headers }: Pick<FastifyRequest, 'headers'>,
  etag: string | undefined,
  lastModified: string | undefined,
): void {
  const wanted = headers['if-match'];
  if (wanted !== undefined) {
    // A tag of another content encoding is of the same answer. A weak one promises no bytes.
    const strong = wanted.split(',').filter((tag) => !tag.trim().startsWith('W/'));
    const isMet = wanted.trim() === '*' || (etag !== undefined && matchedTag(strong.join(','), etag) !== undefined);
    if (!isMet) throw changed('If-Match', wanted, etag === undefined ? 'none: it has no ETag' : etag);
    return;
  }
  const since = headers['if-unmodified-since'];
  if (since === undefined || lastModified === undefined) return;
  if (Date.parse(lastModified) > Date.parse(since)) throw changed('If-Unmodified-Since', since, lastModified);
}

function changed(header: string, found: string, expected: string): RequestError {
  return new RequestError(
    'precondition_failed',
    `${header}: found ${shortened(found, 60)}, but the answer is another one now, of ${expected}`,
  );
}
