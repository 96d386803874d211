/**
 * This replica among all that share the catalog: it writes again and again that it runs, and learns how many others do. Limits that hold
 * for all replicas together are divided by their number: each of them applies an equal part by itself, without asking anybody.
 */
import type { Catalog, Replica } from '../catalog/catalog.ts';
import { BEAT_MILLIS, LIVE_MILLIS } from '../domain/replica.ts';
import type { Sleep } from '../domain/time.ts';

export interface LiveReplicasOptions {
  readonly catalog: Pick<Catalog, 'replicas'>;
  readonly replica: Replica;
  /** Whether this process writes for its replica: one of several workers does. */
  readonly beats: boolean;
  readonly sleep: Sleep;
  /** Told when the catalog took no beat. The number of before holds on. */
  readonly onError: (error: unknown) => void;
}

/** What a process may take of limits that hold for all replicas together. */
export type LimitParts = Pick<LiveReplicas, 'partOf' | 'wholePartOf'>;

/** Of a process that shares nothing with others. */
export const ALONE: LimitParts = { partOf: (limit) => limit, wholePartOf: (limit) => limit };

export class LiveReplicas {
  readonly #options: LiveReplicasOptions;
  #count = 1;

  constructor(options: LiveReplicasOptions) {
    this.#options = options;
  }

  /** How many run, this one included, as of the last beat. */
  get count(): number {
    return this.#count;
  }

  get name(): string {
    return this.#options.replica.name;
  }

  /** This replica's part of what all of them allow together. */
  partOf(limit: number): number {
    return limit / this.#count;
  }

  /** The same of what is counted: at least one. 0 means that there is no limit, or nothing, in each of them. */
  wholePartOf(limit: number): number {
    return limit === 0 ? 0 : Math.max(1, Math.floor(limit / this.#count));
  }

  /** Goes on beating until the signal is aborted, and then says that it has stopped. */
  async run(signal: AbortSignal): Promise<void> {
    const { sleep, onError } = this.#options;
    while (!signal.aborted) {
      try {
        await sleep(BEAT_MILLIS, signal);
        await this.beat();
      } catch (error) {
        if (!signal.aborted) onError(error);
      }
    }
    const { catalog, replica, beats } = this.#options;
    if (beats) await catalog.replicas.remove(replica.id).catch(onError);
  }

  /** One beat, and a look at who else runs. */
  async beat(): Promise<void> {
    const { catalog, replica, beats } = this.#options;
    if (beats) await catalog.replicas.beat(replica);
    const live = await catalog.replicas.list(LIVE_MILLIS);
    const others = live.filter(({ id }) => id !== replica.id);
    this.#count = others.length + 1;
  }
}
