/**
 * When each key was last used, added to the catalog from time to time: for each key at most once a minute, and for all keys
 * together in one commit at each turn of the usage meter. A commit that fails is tried again with the next.
 */
import type { KeyUse, Principals } from '../catalog/catalog.ts';
import type { Instant } from '../domain/instant.ts';
import { pause, type Sleep } from '../domain/time.ts';
import type { Observation, Observe } from './observation.ts';

export interface KeyUsesOptions {
  readonly principals: Pick<Principals, 'recordKeyUses'>;
  readonly observe: Observe;
}

const GRANULARITY_MILLIS = 60_000;

export class KeyUses {
  readonly #options: KeyUsesOptions;
  /** The last use of each key, as far as it is not in the catalog. */
  readonly #last = new Map<string, Instant>();
  /** What the catalog has. As many as there are keys in use. */
  readonly #recorded = new Map<string, Instant>();

  constructor(options: KeyUsesOptions) {
    this.#options = options;
  }

  observe(observation: Observation): void {
    if (observation.kind !== 'answered' || observation.keyId === undefined) return;
    // When it began is worked out from how long it took, and has fractions.
    this.#last.set(observation.keyId, Math.round(observation.startedAt));
  }

  /** Writes at every interval until the signal is aborted, and then the rest. */
  async run(intervalMillis: number, sleep: Sleep, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(intervalMillis, sleep, signal);
      await this.write(signal.aborted);
    }
  }

  /** Never rejects: what could not be added is kept. @param all also what was recorded less than a minute ago */
  async write(all: boolean): Promise<void> {
    const uses: KeyUse[] = [];
    for (const [keyId, at] of this.#last) {
      const before = this.#recorded.get(keyId);
      if (all || before === undefined || Math.abs(at - before) >= GRANULARITY_MILLIS) uses.push({ keyId, at });
    }
    if (uses.length === 0) return;
    try {
      await this.#options.principals.recordKeyUses(uses);
      for (const { keyId, at } of uses) {
        this.#recorded.set(keyId, at);
        if (this.#last.get(keyId) === at) this.#last.delete(keyId);
      }
    } catch (error) {
      this.#options.observe({ kind: 'fault', what: 'recording when keys were used', error });
    }
  }
}
