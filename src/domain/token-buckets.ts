/**
 * Token buckets by name: each holds up to `burst` tokens, takes one for every request, and fills by `perSecond`. A bucket costs a
 * look-up; the names that are remembered are bounded, and the one met first is forgotten first, which at worst fills its bucket.
 */
/** The rate and the burst may change from one request to the next. */
export interface TokenBucketOptions {
  readonly perSecond: number;
  /** Whole, at least 1: what a bucket holds when it is full. */
  readonly burst: number;
  readonly namesMax: number;
  /** Milliseconds that only ever grow. */
  readonly monotonic: () => number;
}

interface Bucket {
  tokens: number;
  atMillis: number;
}

/** What is left after a request. */
export interface Allowance {
  readonly allowed: boolean;
  /** Requests that could follow at once. */
  readonly remaining: number;
  /** Until one more may come, when none may; else until the bucket is full. At least 1. */
  readonly seconds: number;
}

export class TokenBuckets {
  readonly #options: TokenBucketOptions;
  readonly #buckets = new Map<string, Bucket>();

  constructor(options: TokenBucketOptions) {
    this.#options = options;
  }

  /** How many names are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Takes a token, where there is one. */
  take(name: string): Allowance {
    const bucket = this.#filled(name) ?? this.#add(name);
    const allowed = bucket.tokens >= 1;
    if (allowed) bucket.tokens -= 1;
    return this.#allowance(bucket, allowed);
  }

  /** Whether there is a token, without taking it. */
  look(name: string): Allowance {
    const bucket = this.#filled(name);
    if (bucket === undefined) return { allowed: true, remaining: this.#options.burst, seconds: 1 };
    return this.#allowance(bucket, bucket.tokens >= 1);
  }

  /** Takes one of `parts` equal shares of the tokens that are there, or one token where a share would be less. @returns how many it took */
  takeShare(name: string, parts: number): number {
    const bucket = this.#filled(name) ?? this.#add(name);
    const tokens = Math.min(Math.floor(bucket.tokens), Math.max(1, Math.floor(bucket.tokens / parts)));
    bucket.tokens -= tokens;
    return tokens;
  }

  /** Gives back tokens that were taken and not used. */
  giveBack(name: string, tokens: number): void {
    const bucket = this.#filled(name);
    if (bucket !== undefined) bucket.tokens = Math.min(this.#options.burst, bucket.tokens + tokens);
  }

  #filled(name: string): Bucket | undefined {
    const bucket = this.#buckets.get(name);
    if (bucket === undefined) return undefined;
    const { perSecond, burst, monotonic } = this.#options;
    const now = monotonic();
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.atMillis) / 1000) * perSecond);
    bucket.atMillis = now;
    return bucket;
  }

  #add(name: string): Bucket {
    const { burst, namesMax, monotonic } = this.#options;
    if (this.#buckets.size >= namesMax) {
      const [first] = this.#buckets.keys();
      if (first !== undefined) this.#buckets.delete(first);
    }
    const bucket = { tokens: burst, atMillis: monotonic() };
    this.#buckets.set(name, bucket);
    return bucket;
  }

  #allowance({ tokens }: Bucket, allowed: boolean): Allowance {
    const { perSecond, burst } = this.#options;
    const missing = tokens < 1 ? 1 - tokens : burst - tokens;
    return { allowed, remaining: Math.floor(tokens), seconds: Math.max(1, Math.ceil(missing / perSecond)) };
  }
}
