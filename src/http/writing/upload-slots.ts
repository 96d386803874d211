/** Limits the uploads at the same time: for each key, and in all. Every upload takes disk space while it arrives. */
import { RequestError } from '../../errors/errors.ts';

export interface UploadSlotLimits {
  readonly perKeyMax: number;
  readonly allMax: number;
}

export class UploadSlots {
  readonly #limits: UploadSlotLimits;
  readonly #ofKey = new Map<string, number>();
  #all = 0;

  constructor(limits: UploadSlotLimits) {
    this.#limits = limits;
  }

  get taken(): number {
    return this.#all;
  }

  /** Takes a slot until it is disposed of. @throws RequestError too_many_uploads · overloaded */
  take(keyId: string): Disposable {
    const ofKey = this.#ofKey.get(keyId) ?? 0;
    const { perKeyMax, allMax } = this.#limits;
    if (ofKey >= perKeyMax) {
      throw new RequestError(
        'too_many_uploads',
        `this key sends ${ofKey} results already, and ${perKeyMax} is the most`,
      );
    }
    if (this.#all >= allMax) {
      throw new RequestError(
        'overloaded',
        `${this.#all} results are being sent already, and ${allMax} is the most; try again`,
      );
    }
    this.#ofKey.set(keyId, ofKey + 1);
    this.#all += 1;
    return { [Symbol.dispose]: () => this.#leave(keyId) };
  }

  #leave(keyId: string): void {
    this.#all -= 1;
    const left = (this.#ofKey.get(keyId) ?? 1) - 1;
    if (left === 0) this.#ofKey.delete(keyId);
    else this.#ofKey.set(keyId, left);
  }
}
