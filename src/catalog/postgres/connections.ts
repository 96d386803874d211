/**
 * The connections to the server that statements and transactions take in turn. There may be fewer than it is set to: where others have taken all
 * that the server allows, it goes on with those that it has, and whoever finds none free waits for one.
 */
import type { Pool, PoolClient } from 'pg';
import { isWithoutConnection } from './unavailable.ts';

/** After this long it looks whether the server allows more again. */
const AGAIN_MILLIS = 1000;

export class Connections {
  readonly #pool: Pool;
  readonly #max: number;
  readonly #monotonic: () => number;
  /** Those that are there; the pool's own number has those that are being made, too. */
  readonly #made = new Set<unknown>();
  #refusedAt = Number.NEGATIVE_INFINITY;

  /** @param monotonic milliseconds */
  constructor(pool: Pool, monotonic: () => number) {
    this.#pool = pool;
    this.#max = pool.options.max;
    this.#monotonic = monotonic;
    pool.on('connect', (client) => this.#made.add(client));
    pool.on('remove', (client) => this.#made.delete(client));
  }

  /** @throws the driver's error, where there is none at all, or none is free for too long */
  async take(): Promise<PoolClient> {
    if (this.#monotonic() - this.#refusedAt >= AGAIN_MILLIS) this.#pool.options.max = this.#max;
    try {
      return await this.#pool.connect();
    } catch (error) {
      if (!isWithoutConnection(error) || this.#made.size === 0) throw error;
      this.#refusedAt = this.#monotonic();
      this.#pool.options.max = this.#made.size;
      return await this.#pool.connect();
    }
  }

  async close(): Promise<void> {
    if (!this.#pool.ended) await this.#pool.end();
  }
}
