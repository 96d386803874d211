/** From the settings to the limit on each key's requests, and to its tokens, which several processes may share. */
import { TokenBuckets } from '../domain/token-buckets.ts';
import { RateLimit, type RequestTokens } from '../http/rate-limit.ts';
import type { Settings } from '../settings/settings.ts';

type RateSettings = Pick<Settings, 'rateLimit' | 'rateBurst'>;

/** More keys than are in use at a time. */
const KEYS_MAX = 100_000;

/** @param given the tokens of all workers, if there are several */
export function rateLimitOf(
  settings: RateSettings,
  given: RequestTokens | undefined,
  monotonic: () => number,
): RateLimit | undefined {
  const { rateLimit: perSecond, rateBurst: burst } = settings;
  const tokens = given ?? ownTokens(tokenBucketsOf(settings, monotonic));
  return perSecond === 'off' || tokens === undefined ? undefined : new RateLimit({ perSecond, burst, tokens });
}

/** Of the only process, which has nobody to ask. */
function ownTokens(buckets: TokenBuckets | undefined): RequestTokens | undefined {
  return buckets && { takeNow: (keyId) => buckets.take(keyId), take: (keyId) => buckets.take(keyId) };
}

/** The buckets of all keys; undefined where requests are not limited. */
export function tokenBucketsOf(settings: RateSettings, monotonic: () => number): TokenBuckets | undefined {
  const { rateLimit: perSecond, rateBurst: burst } = settings;
  return perSecond === 'off' ? undefined : new TokenBuckets({ perSecond, burst, namesMax: KEYS_MAX, monotonic });
}
