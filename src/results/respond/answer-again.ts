/**
 * Answers from memory when the same key asks for the same address again and the page is still kept. Nothing is parsed, resolved
 * or planned. The address cache decides when that is right.
 */
import type { Clock } from '../../domain/instant.ts';
import type { Principal } from '../../domain/principal.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { Answer } from '../answer.ts';
import type { CatalogCache } from '../cache/catalog-cache.ts';
import { type AddressEntry, findByAddress, type PageCaches } from '../cache/finished-pages.ts';
import type { ResultsRequest } from '../request/results-request.ts';
import { cacheHeadersOf } from './cache-policy.ts';
import { respondFinished } from './text.ts';

export interface AnswerAgainDeps {
  readonly caches: PageCaches;
  readonly catalogCache: Pick<CatalogCache, 'version'>;
  readonly clock: Clock;
}

export interface AnswerAgain {
  readonly answer: Answer;
  /** While both are unchanged, the same request has the same answer. */
  readonly terms: Pick<AddressEntry, 'catalogVersion' | 'execution'>;
}

export function answerAgain(
  { address, cachePolicy, ifNoneMatch }: Pick<ResultsRequest, 'address' | 'cachePolicy' | 'ifNoneMatch'>,
  { keyId }: Principal,
  { caches, catalogCache, clock }: AnswerAgainDeps,
  stats: RequestStats,
): AnswerAgain | undefined {
  const now = clock();
  const found = findByAddress(caches, keyId, address, catalogCache, now);
  if (found === undefined) return undefined;
  const { page, entry } = found;
  const { catalogVersion, execution } = entry;
  stats.executionId = execution.id;
  stats.queryId = execution.queryId;
  stats.cache = 'hit';
  const cacheHeaders = { ...cacheHeadersOf(cachePolicy, entry, now), ...entry.fileHeaders };
  const answer = respondFinished(page, page.etag, cacheHeaders, ifNoneMatch, stats);
  return { answer, terms: { catalogVersion, execution } };
}
