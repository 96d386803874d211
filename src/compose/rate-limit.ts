/** From the settings to the limit on each key's requests, and to its tokens, which several processes may share. */
import { TokenBuckets } from '../domain/token-buckets.ts';
import { RateLimit, type RequestTokens } from '../http/rate-limit.ts';
import type { LimitParts } from '../replicas/live-replicas.ts';
import type { Settings } from '../settings/settings.ts';

type RateSettings = Pick<Settings, 'rateLimit' | 'rateBurst'>;

/** More keys than are in use at a time. */
const KEYS_MAX = 100_000;

export interface RateLimitParts {
  /** The tokens of all workers, if there are several. */
  readonly given: RequestTokens | undefined;
  readonly replicas: LimitParts;
  readonly monotonic: () => number;
}

export function rateLimitOf(
  settings: RateSettings,
  { given, replicas, monotonic }: RateLimitParts,
): RateLimit | undefined {
  const { rateLimit: perSecond, rateBurst: burst } = settings;
  const tokens = given ?? ownTokens(tokenBucketsOf(settings, replicas, monotonic));
  return perSecond === 'off' || tokens === undefined ? undefined : new RateLimit({ perSecond, burst, tokens });
}

/** Of the only process, which has nobody to ask. */
function ownTokens(buckets: TokenBuckets | undefined): RequestTokens | undefined {
  return buckets && { takeNow: (keyId) => buckets.take(keyId), take: (keyId) => buckets.take(keyId) };
}

/** The buckets of all keys, with this replica's part of the limit; undefined where requests are not limited. */
export function tokenBucketsOf(
  { rateLimit, rateBurst }: RateSettings,
  replicas: LimitParts,
  monotonic: () => number,
): TokenBuckets | undefined {
  if (rateLimit === 'off') return undefined;
  return new TokenBuckets({
    get perSecond() {
      return replicas.partOf(rateLimit);
    },
    get burst() {
      return replicas.wholePartOf(rateBurst);
    },
    namesMax: KEYS_MAX,
    monotonic,
  });
}
