/**
 * The headers that differ between two answers to the same request: the request's id, how long the answer may be kept from now on, and
 * what the key may still ask. All others follow from the request and the answer, so an answer that is sent again keeps them.
 */
import type { Execution } from '../domain/execution.ts';
import type { Instant } from '../domain/instant.ts';
import type { Allowance } from '../domain/token-buckets.ts';
import type { CachePolicy } from '../results/request/cache-policy.ts';
import { cacheControlOf } from '../results/respond/cache-policy.ts';
import type { RateLimit } from './rate-limit.ts';

export interface FreshFacts {
  readonly requestId: string;
  readonly allowance: Allowance | undefined;
  /** Of an answer that may be given again; another one says itself how long it may be kept. */
  readonly kept: { readonly cachePolicy: () => CachePolicy; readonly execution: Execution } | undefined;
}

export function freshHeaders(
  { requestId, allowance, kept }: FreshFacts,
  rateLimit: RateLimit | undefined,
  now: Instant,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { 'x-request-id': requestId };
  if (kept !== undefined) headers['cache-control'] = cacheControlOf(kept.cachePolicy(), kept.execution, now);
  if (rateLimit !== undefined && allowance !== undefined) Object.assign(headers, rateLimit.headers(allowance));
  return headers;
}
