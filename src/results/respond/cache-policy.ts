/**
 * The headers that say how long an answer may be kept, and the tags by which it is recognised. An execution's answer never changes until
 * it expires; a query's latest run may change at any moment; a dataset's changes with its next refresh.
 */
import { createHash } from 'node:crypto';
import type { Execution } from '../../domain/execution.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Latest } from '../cache/catalog-cache.ts';
import type { CachePolicy } from '../request/cache-policy.ts';

/** The longest that HTTP caches are told to keep anything: a year. */
const SECONDS_MAX = 31_536_000;

/** `private`, because what one key may see another may not. */
export function cacheControlOf(cachePolicy: CachePolicy, execution: Execution, now: Instant): string {
  switch (cachePolicy.kind) {
    case 'immutable':
      return `private, max-age=${secondsUntil(execution.expiresAt ?? now + SECONDS_MAX * 1000, now)}`;
    case 'revalidate':
      return 'private, no-cache';
    case 'until':
      // The run is older than the refresh that was due. That refresh is in flight, or failed: its result must not be missed.
      if ((execution.startedAt ?? execution.submittedAt) < cachePolicy.since) return 'private, no-cache';
      return `private, max-age=${secondsUntil(Math.min(cachePolicy.instant, execution.expiresAt ?? cachePolicy.instant), now)}`;
    default:
      return cachePolicy satisfies never;
  }
}

/** Parts of the newest run are missing, so an older one is answered: nobody must take that for the newest. */
function skippedOf({ skipped }: Latest): Readonly<Record<string, string>> {
  return skipped === undefined ? {} : { 'skipped-execution-id': skipped };
}

/** What HTTP is told of the execution: which newer run it is answered instead of, how long the answer holds, since when. */
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

/** The next sample is another one. */
export function sampleHeadersOf(found: Latest): Readonly<Record<string, string>> {
  return { 'cache-control': 'no-store', ...skippedOf(found) };
}

function secondsUntil(instant: Instant, now: Instant): number {
  return Math.max(0, Math.min(SECONDS_MAX, Math.floor((instant - now) / 1000)));
}

/** A strong ETag: the answer's bytes are a function of `identity`, so its hash stands for them, before they are read. */
export function etagOf(identity: string): string {
  return `"${createHash('sha256').update(identity).digest('base64url').slice(0, 27)}"`;
}

/** A strong ETag of bytes by their digest. @param sha256 base64 */
export function etagOfDigest(sha256: string | undefined): string | undefined {
  return sha256 && `"${Buffer.from(sha256, 'base64').toString('base64url').slice(0, 27)}"`;
}

/**
 * Whether a client that sends this If-None-Match has the answer already. Which content encoding it has it in (a suffix of
 * the tag) makes no difference.
 */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  return ifNoneMatch?.trim() === '*' || matchedTag(ifNoneMatch, etag) !== undefined;
}

/** Of the tags that a client sends, the one of the answer in the content encoding that it has it in. */
export function matchedTag(ifNoneMatch: string | undefined, etag: string): string | undefined {
  const sent = ifNoneMatch?.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return sent?.find((tag) => unencodedEtag(tag) === etag);
}

/** The ETag of the answer in a content encoding. @param encoding its name, perhaps with the version of the compressor: `gzip-1a2b` */
export function encodedEtag(etag: string, encoding: string | undefined): string {
  return encoding === undefined ? etag : `${etag.slice(0, -1)}+${encoding}"`;
}

function unencodedEtag(tag: string): string {
  return tag.replace(/\+[\w-]+"$/, '"');
}
