/**
 * The headers that say how long an answer may be kept, and its ETags. The answer of an execution never changes until it
 * expires. The latest run of a query may change at any moment, that of a dataset with its next refresh.
 */
import { hash } from 'node:crypto';
import type { Execution } from '../../domain/execution.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Latest } from '../cache/catalog-cache.ts';
import type { CachePolicy } from '../request/cache-policy.ts';

/** The longest that HTTP caches may keep anything: a year. */
const SECONDS_MAX = 31_536_000;

/** `private`, because another key may not be allowed to see the answer. */
export function cacheControlOf(cachePolicy: CachePolicy, execution: Execution, now: Instant): string {
  switch (cachePolicy.kind) {
    case 'immutable':
      return `private, max-age=${secondsUntil(execution.expiresAt ?? now + SECONDS_MAX * 1000, now)}`;
    case 'revalidate':
      return 'private, no-cache';
    case 'until':
      // The run is older than the last refresh that was due. That refresh is in flight, or has failed: keep nothing, so that
      // its result is seen.
      if ((execution.startedAt ?? execution.submittedAt) < cachePolicy.since) return 'private, no-cache';
      return `private, max-age=${secondsUntil(Math.min(cachePolicy.instant, execution.expiresAt ?? cachePolicy.instant), now)}`;
    default:
      return cachePolicy satisfies never;
  }
}

/** Parts of the newest run are missing, so an older run is served. The header tells the reader. */
function skippedOf({ skipped }: Latest): Readonly<Record<string, string>> {
  return skipped === undefined ? {} : { 'skipped-execution-id': skipped };
}

/**
 * The headers that depend on the execution: which newer run was skipped, how long the answer may be kept, and since when it
 * holds.
 */
export function cacheHeadersOf(
  cachePolicy: CachePolicy,
  found: Latest,
  now: Instant,
): Readonly<Record<string, string>> {
  const { execution } = found;
  return {
    ...skippedOf(found),
    'cache-control': cacheControlOf(cachePolicy, execution, now),
    ...(execution.endedAt !== undefined && { 'last-modified': new Date(execution.endedAt).toUTCString() }),
  };
}

/** Nothing is kept: the next sample has other rows. */
export function sampleHeadersOf(found: Latest): Readonly<Record<string, string>> {
  return { 'cache-control': 'no-store', ...skippedOf(found) };
}

function secondsUntil(instant: Instant, now: Instant): number {
  return Math.max(0, Math.min(SECONDS_MAX, Math.floor((instant - now) / 1000)));
}

/**
 * A strong ETag, known before a row is read: the answer's bytes are a function of `identity`, so a hash of `identity` stands
 * for them.
 */
export function etagOf(identity: string): string {
  return `"${hash('sha256', identity, 'base64url').slice(0, 27)}"`;
}

/** A strong ETag made from the digest of the bytes. @param sha256 base64 */
export function etagOfDigest(sha256: string | undefined): string | undefined {
  return sha256 && `"${Buffer.from(sha256, 'base64').toString('base64url').slice(0, 27)}"`;
}

/** Whether the client that sent this If-None-Match has the answer already, in whatever content encoding (a suffix of the tag). */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch?.trim() === '*' || matchedTag(ifNoneMatch, etag) !== undefined;
}

/** The client's own tag of the answer, weak or strong, with the content encoding in which it has it; undefined when it has none. */
export function matchedTag(ifNoneMatch: string | undefined, etag: string): string | undefined {
  const sent = ifNoneMatch?.split(',').map((tag) => tag.trim());
  return sent?.find((tag) => unencodedEtag(tag.replace(/^W\//, '')) === etag);
}

/**
 * The ETag of the answer in a content encoding.
 * @param encoding its name, perhaps with a version of the compressor: `gzip-1a2b`
 */
export function encodedEtag(etag: string, encoding: string | undefined): string {
  return encoding === undefined ? etag : `${etag.slice(0, -1)}+${encoding}"`;
}

function unencodedEtag(tag: string): string {
  return tag.replace(/\+[\w-]+"$/, '"');
}
