/** The compressed forms of finished answers, kept beside the plain ones: compressing a full page takes as long as reading it. */

import { SharedWork } from '../domain/shared-work.ts';
import { NEVER } from '../domain/time.ts';
import { LruBytes } from '../results/cache/lru-bytes.ts';
import { type ByteChunks, join, ownBytes } from '../results/read/byte-chunks.ts';
import { compress, type Encoding } from './compression.ts';

export class CompressedCache {
  readonly #kept: LruBytes<Uint8Array>;
  readonly #inFlight = new SharedWork<Uint8Array>();

  constructor(bytesMax: number) {
    this.#kept = new LruBytes(bytesMax, (bytes) => bytes.byteLength);
  }

  get bytes(): number {
    return this.#kept.bytes;
  }

  /** @param etag what the bytes are known by; without it they are compressed anew each time */
  async get(bytes: ByteChunks, etag: string | undefined, encoding: Encoding): Promise<Uint8Array> {
    if (etag === undefined) return await compress(await join(bytes), encoding);
    const key = `${encoding} ${etag}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    // It goes on when a client leaves: the next one has it.
    return await this.#inFlight.join(key, () => this.#compress(key, bytes, encoding), NEVER);
  }

  async #compress(key: string, bytes: ByteChunks, encoding: Encoding): Promise<Uint8Array> {
    const compressed = ownBytes([await compress(await join(bytes), encoding)]);
    this.#kept.put(key, compressed);
    return compressed;
  }
}
