/**
 * How often a key may ask, and what it is told about that: the fields `RateLimit-Policy` and `RateLimit` of the IETF draft
 * (draft-ietf-httpapi-ratelimit-headers), 429 with `Retry-After` beyond.
 */
import type { Allowance } from '../domain/token-buckets.ts';
import { RequestError } from '../errors/errors.ts';

/** The tokens of all keys. A request takes one. */
export interface RequestTokens {
  /** Takes a token; undefined where it is not known at once whether there is one. */
  takeNow(keyId: string): Allowance | undefined;
  take(keyId: string): Allowance | Promise<Allowance>;
}

export interface RateLimitOptions {
  readonly perSecond: number;
  readonly burst: number;
  readonly tokens: RequestTokens;
}

export class RateLimit {
  /** So many requests in the time that an empty bucket takes to fill. */
  readonly #policy: string;
  readonly #tokens: RequestTokens;
  readonly #perSecond: number;

  constructor({ perSecond, burst, tokens }: RateLimitOptions) {
    this.#policy = `"default";q=${burst};w=${Math.max(1, Math.ceil(burst / perSecond))}`;
    this.#perSecond = perSecond;
    this.#tokens = tokens;
  }

  /** Counts a request of the key; undefined, and nothing is counted, where it is not known at once whether it may come in. */
  takeNow(keyId: string): Allowance | undefined {
    return this.#tokens.takeNow(keyId);
  }

  /** Counts a request of the key. */
  async take(keyId: string): Promise<Allowance> {
    return await this.#tokens.take(keyId);
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
