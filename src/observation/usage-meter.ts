/**
 * Counts what each key asks for, in memory, and adds it to the catalog from time to time: a request costs a look-up in a map,
 * however slow the catalog is. A write that fails is tried again with the next; what a crash loses is what came since the
 * last one.
 */
import type { Usage, Use } from '../catalog/catalog.ts';
import { type Clock, dayOf, type Instant } from '../domain/instant.ts';
import type { Sleep } from '../scheduler/time.ts';
import type { Observation, Observe } from './observation.ts';

export interface UsageMeterOptions {
  readonly usage: Usage;
  readonly clock: Clock;
  readonly observe: Observe;
}

type Counting = { -readonly [Name in keyof Use]: Use[Name] };

const DAY_MILLIS = 86_400_000;

export class UsageMeter {
  readonly #options: UsageMeterOptions;
  #counting = new Map<string, Counting>();
  #writing: Promise<void> | undefined;
  /** The day it is, so that it need not be worked out for every request. */
  #day = '';
  #dayEnd: Instant = 0;

  constructor(options: UsageMeterOptions) {
    this.#options = options;
  }

  /** Sums that are not in the catalog yet. */
  get waiting(): number {
    return this.#counting.size;
  }

  /** Counts an answer that was given to a key. */
  observe(observation: Observation): void {
    if (observation.kind !== 'answered' || observation.keyId === undefined) return;
    const { keyId, tally } = observation;
    const { queryId, datapoints, bodyBytes } = tally;
    this.#add(this.#counting, {
      day: this.#today(),
      keyId,
      ...(queryId !== undefined && { queryId }),
      requests: 1,
      datapoints,
      bytes: bodyBytes,
    });
  }

  /** Adds to the catalog what was counted since the last time. Never rejects: what could not be added is kept. */
  async write(): Promise<void> {
    await this.#writing;
    if (this.#counting.size === 0) return;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  /** Writes at every interval until the signal is aborted. */
  async run(intervalMillis: number, sleep: Sleep, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(intervalMillis, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      await this.write();
    }
  }

  async #write(): Promise<void> {
    const batch = this.#counting;
    this.#counting = new Map();
    try {
      await this.#options.usage.add([...batch.values()]);
      this.#options.observe({ kind: 'usage_written', uses: batch.size });
    } catch (error) {
      for (const use of batch.values()) this.#add(this.#counting, use);
      this.#options.observe({ kind: 'usage_not_written', error });
    }
  }

  #add(counting: Map<string, Counting>, use: Use): void {
    const name = `${use.day} ${use.keyId} ${use.queryId ?? ''}`;
    const sum = counting.get(name);
    if (sum === undefined) {
      counting.set(name, { ...use });
      return;
    }
    sum.requests += use.requests;
    sum.datapoints += use.datapoints;
    sum.bytes += use.bytes;
  }

  #today(): string {
    const now = this.#options.clock();
    if (now >= this.#dayEnd || now < this.#dayEnd - DAY_MILLIS) {
      this.#day = dayOf(now);
      this.#dayEnd = (Math.floor(now / DAY_MILLIS) + 1) * DAY_MILLIS;
    }
    return this.#day;
  }
}
