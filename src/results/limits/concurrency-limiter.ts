/**
 * How much heavy reading is let in: exports and materialised views, in all and per key, so that neither the service nor its
 * other users suffer from one. What was let in is never turned away later; what is too much is refused at once.
 */
import { RequestError } from '../../errors/errors.ts';

export interface ConcurrencyLimits {
  readonly heavyReadsMax: number;
  readonly heavyReadsPerKeyMax: number;
}

export class ConcurrencyLimiter {
  readonly #limits: ConcurrencyLimits;
  readonly #perKey = new Map<string, number>();
  #total = 0;

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits;
  }

  get total(): number {
    return this.#total;
  }

  /**
   * Lets one heavy read in, until it is disposed of.
   * @throws RequestError rate_limited when this key has too many under way, overloaded when all keys together have
   */
  acquire(keyId: string): Disposable {
    const { heavyReadsMax, heavyReadsPerKeyMax } = this.#limits;
    const ofKey = this.#perKey.get(keyId) ?? 0;
    if (ofKey >= heavyReadsPerKeyMax) {
      throw new RequestError(
        'rate_limited',
        `this key has ${ofKey} exports or large sorted or filtered reads under way, the most that one key may have; wait for one to end`,
      );
    }
    if (this.#total >= heavyReadsMax) {
      throw new RequestError('overloaded', 'too many exports are under way; try again in some seconds');
    }
    this.#total += 1;
    this.#perKey.set(keyId, ofKey + 1);
    let left = false;
    return {
      [Symbol.dispose]: () => {
        if (left) return;
        left = true;
        this.#total -= 1;
        const now = (this.#perKey.get(keyId) ?? 1) - 1;
        if (now === 0) this.#perKey.delete(keyId);
        else this.#perKey.set(keyId, now);
      },
    };
  }
}
