/**
 * Counts what each key asks for, in memory, and adds it to the catalog from time to time: a request costs a few look-ups,
 * however slow the catalog is. A write that fails is tried again before the next, as the same batch, since it may have been
 * committed and only its answer lost; what a crash loses is what came since the last one.
 */
import type { Usage } from '../catalog/catalog.ts';
import { DAY_MILLIS, dayOf, type Instant } from '../domain/instant.ts';
import { pause, type Sleep } from '../domain/time.ts';
import type { Use } from '../domain/usage.ts';
import { entry } from './entry.ts';
import type { Observation, Observe } from './observation.ts';

export interface UsageMeterOptions {
  readonly usage: Usage;
  readonly observe: Observe;
  /** Names this process among all that share the catalog. */
  readonly writer: string;
}

type Counting = { -readonly [Name in keyof Use]: Use[Name] };

/** By day, key and query, one in the other: a name made of the three would have to be put together for every request. */
class Sums {
  readonly #byDay = new Map<string, Map<string, Map<number | undefined, Counting>>>();

  /** What the sum is so far; the caller adds to it. */
  of(day: string, keyId: string, queryId: number | undefined): Counting {
    const byKey = entry(this.#byDay, day, () => new Map());
    const byQuery = entry(byKey, keyId, () => new Map());
    return entry(byQuery, queryId, () => {
      return { day, keyId, ...(queryId !== undefined && { queryId }), requests: 0, datapoints: 0, bytes: 0 };
    });
  }

  all(): readonly Use[] {
    return [...this.#byDay.values()].flatMap((byKey) => [...byKey.values()].flatMap((sums) => [...sums.values()]));
  }
}

export class UsageMeter {
  readonly #options: UsageMeterOptions;
  #counting = new Sums();
  /** What is being written, or could not be. */
  #batch: { readonly uses: readonly Use[]; readonly number: number } | undefined;
  #batches = 0;
  #writing: Promise<void> | undefined;
  /** The day of the last answer, so that it need not be worked out for every one. */
  #day = '';
  #dayEnd: Instant = 0;

  constructor(options: UsageMeterOptions) {
    this.#options = options;
  }

  /** Sums that are not in the catalog yet. */
  get waiting(): number {
    return this.#counting.all().length + (this.#batch?.uses.length ?? 0);
  }

  /** Counts an answer that was given to a key. */
  observe(observation: Observation): void {
    if (observation.kind !== 'answered' || observation.keyId === undefined) return;
    const { keyId, startedAt, millis, stats } = observation;
    const sum = this.#counting.of(this.#dayOf(startedAt + millis), keyId, stats.queryId);
    sum.requests += 1;
    sum.datapoints += stats.datapoints;
    sum.bytes += stats.bodyBytes;
  }

  /** Adds to the catalog what was counted since the last time. Never rejects: what could not be added is kept. */
  async write(): Promise<void> {
    await this.#writing;
    if (this.waiting === 0) return;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    await this.#writing;
  }

  /** Writes at every interval until the signal is aborted. */
  async run(intervalMillis: number, sleep: Sleep, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(intervalMillis, sleep, signal);
      await this.write();
    }
  }

  /** What could not be written the last time, and then what has come since. */
  async #write(): Promise<void> {
    if (this.#batch !== undefined && !(await this.#writeBatch(this.#batch))) return;
    const uses = this.#counting.all();
    if (uses.length === 0) return;
    this.#counting = new Sums();
    this.#batches += 1;
    this.#batch = { uses, number: this.#batches };
    await this.#writeBatch(this.#batch);
  }

  async #writeBatch({ uses, number }: { readonly uses: readonly Use[]; readonly number: number }): Promise<boolean> {
    const { usage, observe, writer } = this.#options;
    try {
      await usage.add(uses, { writer, number });
    } catch (error) {
      observe({ kind: 'usage_not_written', error });
      return false;
    }
    this.#batch = undefined;
    observe({ kind: 'usage_written', uses: uses.length });
    return true;
  }

  #dayOf(instant: Instant): string {
    if (instant >= this.#dayEnd || instant < this.#dayEnd - DAY_MILLIS) {
      this.#day = dayOf(instant);
      this.#dayEnd = (Math.floor(instant / DAY_MILLIS) + 1) * DAY_MILLIS;
    }
    return this.#day;
  }
}
