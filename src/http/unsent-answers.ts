/**
 * Bounds the memory of answers that have been made and that their clients do not take: slow ones, or such as read nothing at all. An answer
 * that is streamed waits for its reader; one that is finished in memory cannot, and a thousand of 20 MB would end the process. Small ones
 * are not counted: the number of connections bounds them.
 */
import type { EventEmitter } from 'node:events';
import { RequestError } from '../errors/errors.ts';

const SMALL_BYTES_MAX = 64 * 1024;

export class UnsentAnswers {
  readonly #bytesMax: number;
  readonly #all = new HeldMemory();
  readonly #ofKey = new Map<string, HeldMemory>();

  /** @param bytesMax of all answers; those of one key may have half of it. Where none waits, one may be of any size */
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
   * Counts an answer that is about to be sent, until it is disposed of.
   * @param keyId '': what needs no key
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
  /** Once it is sent, its memory may be given to others. */
  readonly bytes: number;
}

/** A page that is kept may be on its way to many, and takes its memory once. */
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
