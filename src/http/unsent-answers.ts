/**
 * Bounds the memory of finished answers that wait for their clients: slow ones, or clients that read nothing at all. A streamed answer is made
 * only as fast as it is read. One that is finished in memory is there as a whole, and a thousand of 20 MB would end the process. Small
 * answers are not counted: the number of connections bounds them.
 */
import type { EventEmitter } from 'node:events';
import { RequestError } from '../errors/errors.ts';

const SMALL_BYTES_MAX = 64 * 1024;

export class UnsentAnswers {
  readonly #bytesMax: number;
  readonly #all = new HeldMemory();
  readonly #ofKey = new Map<string, HeldMemory>();

  /** @param bytesMax of all answers; those of one key may take half of it. Where no other waits, an answer may have any size */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#all.bytes;
  }

  hasRoom(keyId: string, answer: readonly Uint8Array[]): boolean {
    return this.#refusal(keyId, memoriesOf(answer)) === undefined;
  }

  /**
   * Counts an answer that is about to be sent, until what is returned is disposed of.
   * @param keyId '' for requests that need no key
   * @throws RequestError rate_limited · overloaded
   */
  take(keyId: string, answer: readonly Uint8Array[]): Disposable {
    const memories = memoriesOf(answer);
    const refusal = this.#refusal(keyId, memories);
    if (refusal !== undefined) throw refusal;
    const held = memories.map((memory) => ({ memory, bytes: memory.byteLength }));
    const ofKey = this.#ofKey.get(keyId) ?? new HeldMemory();
    if (held.length > 0) this.#ofKey.set(keyId, ofKey);
    for (const each of [ofKey, this.#all]) each.add(held);
    return {
      [Symbol.dispose]: () => {
        const sent = held.splice(0);
        for (const each of [ofKey, this.#all]) each.remove(sent);
        if (ofKey.bytes === 0) this.#ofKey.delete(keyId);
      },
    };
  }

  /**
   * The same, until the response is closed.
   * @throws RequestError rate_limited · overloaded
   */
  takeUntilClosed(
    keyId: string,
    answer: readonly Uint8Array[],
    response: EventEmitter & { readonly closed: boolean },
  ): void {
    const held = this.take(keyId, answer);
    if (response.closed) held[Symbol.dispose]();
    else response.once('close', () => held[Symbol.dispose]());
  }

  #refusal(keyId: string, memories: readonly ArrayBufferLike[]): RequestError | undefined {
    if (memories.length === 0) return undefined;
    const ofKey = this.#ofKey.get(keyId);
    if (ofKey?.hasRoom(memories, this.#bytesMax / 2) === false) {
      return new RequestError(
        'rate_limited',
        `this key has not taken ${megabytes(ofKey.bytes)} of its answers, as much as may wait for one key; read them, or ask for less`,
      );
    }
    if (this.#all.hasRoom(memories, this.#bytesMax)) return undefined;
    return new RequestError(
      'overloaded',
      `${megabytes(this.#all.bytes)} of answers wait for slow clients, as much as may; ask for less, or try again in some seconds`,
    );
  }
}

function memoriesOf(answer: readonly Uint8Array[]): readonly ArrayBufferLike[] {
  return answer.map(({ buffer }) => buffer).filter(({ byteLength }) => byteLength > SMALL_BYTES_MAX);
}

interface Held {
  readonly memory: ArrayBufferLike;
  /** Its length when it was counted. Memory that is given back has the length 0 (give-back.ts). */
  readonly bytes: number;
}

/** Counts each memory once: a page that is cached may be on its way to many clients. */
class HeldMemory {
  readonly #counts = new Map<ArrayBufferLike, number>();
  bytes = 0;

  hasRoom(memories: readonly ArrayBufferLike[], bytesMax: number): boolean {
    const more = new Set(memories.filter((memory) => !this.#counts.has(memory)));
    return this.bytes === 0 || [...more].reduce((sum, { byteLength }) => sum + byteLength, this.bytes) <= bytesMax;
  }

  add(held: readonly Held[]): void {
    for (const { memory, bytes } of held) {
      const count = this.#counts.get(memory) ?? 0;
      if (count === 0) this.bytes += bytes;
      this.#counts.set(memory, count + 1);
    }
  }

  remove(held: readonly Held[]): void {
    for (const { memory, bytes } of held) {
      const count = this.#counts.get(memory) ?? 0;
      if (count > 1) this.#counts.set(memory, count - 1);
      else if (this.#counts.delete(memory)) this.bytes -= bytes;
    }
  }
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
