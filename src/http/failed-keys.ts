/**
 * Addresses that try keys that are not there. After too many of them an address is refused before its key is looked up, unless
 * that key was right a short while ago: one broken script behind a shared address must not lock out its neighbours.
 */
import { isIPv6 } from 'node:net';
import { RequestError } from '../errors/errors.ts';
import { TokenBuckets } from './token-buckets.ts';

export interface FailedKeysOptions {
  /** Wrong keys that an address may send in a minute; 0: as many as it likes. */
  readonly perMinute: number;
  /** Milliseconds that only ever grow. */
  readonly monotonic: () => number;
}

const ADDRESSES_MAX = 100_000;
const GOOD_KEYS_MAX = 20_000;

export class FailedKeys {
  readonly #failures: TokenBuckets | undefined;
  /** Hashes of keys that were right. Whether they still are is looked up all the same. */
  readonly #good = new Set<string>();

  constructor({ perMinute, monotonic }: FailedKeysOptions) {
    if (perMinute === 0) return;
    const options = { perSecond: perMinute / 60, burst: perMinute, namesMax: ADDRESSES_MAX, monotonic };
    this.#failures = new TokenBuckets(options);
  }

  /** @throws RequestError rate_limited when the address has to wait before it may try this key */
  check(address: () => string, keyHash: string): void {
    if (this.#failures === undefined || this.#failures.size === 0 || this.#good.has(keyHash)) return;
    const { allowed, seconds } = this.#failures.look(network(address()));
    if (allowed) return;
    throw new RequestError('rate_limited', `too many wrong keys from this address; try again in ${seconds} s`, {
      retryAfterSeconds: seconds,
    });
  }

  failed(address: () => string, keyHash: string): void {
    this.#good.delete(keyHash);
    this.#failures?.take(network(address()));
  }

  succeeded(keyHash: string): void {
    if (this.#failures === undefined || this.#good.has(keyHash)) return;
    if (this.#good.size >= GOOD_KEYS_MAX) this.#good.clear();
    this.#good.add(keyHash);
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
