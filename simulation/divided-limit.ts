/** One process among its replicas: it says again and again that it runs, learns who else does, and applies its part of a limit. */
import type { Catalog } from '../src/catalog/catalog.ts';
import { TokenBuckets } from '../src/domain/token-buckets.ts';
import { type LimitParts, LiveReplicas } from '../src/replicas/live-replicas.ts';
import type { Host } from './host.ts';
import type { Invariants } from './invariants/invariants.ts';
import { LIMIT } from './invariants/limits.ts';

export interface DividedLimitParts {
  readonly host: Host;
  readonly machine: string;
  readonly catalog: Pick<Catalog, 'replicas'>;
  readonly invariants: Invariants;
  /** In place of what the process works out. */
  readonly limitParts?: LimitParts;
}

export class DividedLimit {
  readonly #live: LiveReplicas;
  readonly #buckets: TokenBuckets;
  readonly #invariants: Invariants;
  readonly #onError: (error: unknown) => void;

  constructor({ host, machine, catalog, invariants, limitParts }: DividedLimitParts) {
    this.#invariants = invariants;
    this.#onError = (error) => invariants.fault(host, 'saying that it runs', error);
    const { sleep, name: id } = host;
    const replica = { id, name: machine, version: '1.0.0' };
    const options = { catalog, replica, beats: true, sleep, onError: this.#onError };
    this.#live = new WatchedReplicas(options, invariants);
    const parts = limitParts ?? this.#live;
    this.#buckets = new TokenBuckets({
      get perSecond() {
        return parts.partOf(LIMIT.perSecond);
      },
      get burst() {
        return parts.wholePartOf(LIMIT.burst);
      },
      namesMax: 10,
      monotonic: host.monotonic,
    });
  }

  /** As src/compose/replicas.ts does it. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#live.beat().catch(this.#onError);
    await this.#live.run(signal);
  }

  /** A request comes, and is let in or not. */
  ask(): void {
    if (this.#buckets.take('a key').allowed) this.#invariants.limits.allowed(this.#invariants.now());
  }
}

/** The same, and each look is compared with what could be seen. */
class WatchedReplicas extends LiveReplicas {
  readonly #invariants: Invariants;
  readonly #id: string;

  constructor(options: ConstructorParameters<typeof LiveReplicas>[0], invariants: Invariants) {
    super(options);
    this.#invariants = invariants;
    this.#id = options.replica.id;
  }

  override async beat(): Promise<void> {
    const { limits, now } = this.#invariants;
    const before = limits.live(now());
    await super.beat();
    limits.looked(this.#id, this.count, before, now());
  }
}
