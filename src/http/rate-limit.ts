/**
 * How often a key may ask, and what it is told about that: the fields `RateLimit-Policy` and `RateLimit` of the IETF draft
 * (draft-ietf-httpapi-ratelimit-headers), 429 with `Retry-After` beyond.
 */
import { RequestError } from '../errors/errors.ts';
import { type Allowance, TokenBuckets } from './token-buckets.ts';

export interface RateLimitOptions {
  readonly perSecond: number;
  readonly burst: number;
  /** Milliseconds that only ever grow. */
  readonly monotonic: () => number;
}

/** More keys than are in use at a time. */
const KEYS_MAX = 100_000;

export class RateLimit {
  /** So many requests in the time that an empty bucket takes to fill. */
  readonly #policy: string;
  readonly #buckets: TokenBuckets;
  readonly #perSecond: number;

  constructor({ perSecond, burst, monotonic }: RateLimitOptions) {
    this.#policy = `"default";q=${burst};w=${Math.max(1, Math.ceil(burst / perSecond))}`;
    this.#perSecond = perSecond;
    this.#buckets = new TokenBuckets({ perSecond, burst, namesMax: KEYS_MAX, monotonic });
  }

  /** Counts a request of the key. */
  take(keyId: string): Allowance {
    return this.#buckets.take(keyId);
  }

  /** What a key is told with each answer. */
  headers({ remaining, seconds }: Allowance): Readonly<Record<string, string>> {
    return { 'ratelimit-policy': this.#policy, ratelimit: `"default";r=${remaining};t=${seconds}` };
  }

  refusal({ seconds }: Allowance): RequestError {
    return new RequestError(
      'rate_limited',
      `this key may ask ${this.#perSecond} times a second; try again in ${seconds} s`,
      { retryAfterSeconds: seconds },
    );
  }
}
