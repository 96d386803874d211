/**
 * Limits wrong keys by address. Every key is looked up, because behind one address there may be many clients, and one broken script must
 * not lock out the others. What is limited is how often an address gets a 401: after too many wrong keys it is told to wait. What wrong
 * keys cost the catalog is bounded by `CatalogCache`, which remembers them apart.
 */
import { isIPv6 } from 'node:net';
import { TokenBuckets } from '../domain/token-buckets.ts';
import { RequestError } from '../errors/errors.ts';

export interface AuthFailureLimits {
  /** Wrong keys that an address may send in a minute; 0: as many as it likes. */
  readonly perMinute: number;
  /** Milliseconds that only ever grow. */
  readonly monotonic: () => number;
}

const ADDRESSES_MAX = 100_000;

export class AuthFailureLimiter {
  readonly #failures: TokenBuckets | undefined;

  constructor({ perMinute, monotonic }: AuthFailureLimits) {
    if (perMinute === 0) return;
    const options = { perSecond: perMinute / 60, burst: perMinute, namesMax: ADDRESSES_MAX, monotonic };
    this.#failures = new TokenBuckets(options);
  }

  /**
   * Counts a wrong key.
   * @throws RequestError rate_limited when the address has sent too many
   */
  count(address: string): void {
    const allowance = this.#failures?.take(network(address));
    if (allowance === undefined || allowance.allowed) return;
    const { seconds } = allowance;
    throw new RequestError('rate_limited', `too many wrong keys from this address; try again in ${seconds} s`, {
      retryAfterSeconds: seconds,
    });
  }
}

/** Whoever has one IPv6 address has its whole /64. */
function network(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail = ''] = address.split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  const after = tail === '' ? [] : tail.split(':');
  while (address.includes('::') && groups.length + after.length < 8) groups.push('0');
  return [...groups, ...after].slice(0, 4).join(':');
}
