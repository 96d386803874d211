/** The compressed forms of finished answers, kept beside the plain ones: compressing a full page takes as long as reading it. */
import { LruBytes } from '../results/cache/lru-bytes.ts';
import { type ByteChunks, join } from '../results/read/byte-chunks.ts';
import { compress, type Encoding } from './compression.ts';

export class CompressedCache {
  readonly #kept: LruBytes<Uint8Array>;
  readonly #inFlight = new Map<string, Promise<Uint8Array>>();

  constructor(bytesMax: number) {
    this.#kept = new LruBytes(bytesMax, (bytes) => bytes.byteLength);
  }

  get bytes(): number {
    return this.#kept.bytes;
  }

  /** @param etag what the bytes are known by; without it they are compressed anew each time */
  async get(bytes: ByteChunks, etag: string | undefined, encoding: Encoding): Promise<Uint8Array> {
    if (etag === undefined) return await compress(join(bytes), encoding);
    const key = `${encoding} ${etag}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const inFlight = this.#inFlight.get(key) ?? this.#compress(key, bytes, encoding);
    return await inFlight;
  }

  async #compress(key: string, bytes: ByteChunks, encoding: Encoding): Promise<Uint8Array> {
    const compressing = compress(join(bytes), encoding);
    this.#inFlight.set(key, compressing);
    try {
      const compressed = await compressing;
      this.#kept.put(key, compressed);
      return compressed;
    } finally {
      this.#inFlight.delete(key);
    }
  }
}
