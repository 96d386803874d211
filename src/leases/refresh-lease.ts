/**
 * The right to refresh one dataset, held by renewing it while the refresh goes on. A lease that its holder no longer renews,
 * or whose holder is known to be dead, is abandoned: exactly one process reclaims it and owes the refresh that was left.
 */
import { type Catalog, type Lease, LeaseLost } from '../catalog/catalog.ts';
import type { Clock } from '../domain/instant.ts';
import type { Sleep } from '../domain/time.ts';

export interface RefreshLeaseOptions {
  readonly catalog: Pick<Catalog, 'leases'>;
  readonly clock: Clock;
  readonly sleep: Sleep;
  /** Names this process among all that share the catalog. */
  readonly owner: string;
  /** True only when the process of that name is certainly gone: its leases need not run out first. */
  readonly isLeaseOwnerDead: (owner: string) => boolean;
  /** How long the lease holds without being renewed; it is renewed three times as often. */
  readonly leaseMillis: number;
}

const PREFIX = 'refresh:';

/** The datasets whose refresh was abandoned, each named to one process only. */
export async function reclaimAbandoned(options: RefreshLeaseOptions): Promise<readonly string[]> {
  const { catalog, clock, isLeaseOwnerDead } = options;
  const reclaimed: string[] = [];
  for (const lease of await catalog.leases.list(PREFIX)) {
    const abandoned = lease.expiresAt <= clock() || isLeaseOwnerDead(lease.owner);
    if (abandoned && (await catalog.leases.revoke(lease))) reclaimed.push(lease.resource.slice(PREFIX.length));
  }
  return reclaimed;
}

export class RefreshLease implements AsyncDisposable {
  readonly #options: RefreshLeaseOptions;
  readonly #lost = new AbortController();
  readonly #done = new AbortController();
  readonly #renewing: Promise<void>;
  #lease: Lease;

  private constructor(lease: Lease, options: RefreshLeaseOptions) {
    this.#lease = lease;
    this.#options = options;
    this.#renewing = this.#renew();
  }

  /** The lease, or undefined while another process (or another task of this one) refreshes the dataset. */
  static async acquire(dataset: string, options: RefreshLeaseOptions): Promise<RefreshLease | undefined> {
    const { catalog, clock, owner, leaseMillis } = options;
    const lease = await catalog.leases.acquire(`${PREFIX}${dataset}`, owner, clock(), leaseMillis);
    return lease === undefined ? undefined : new RefreshLease(lease, options);
  }

  /** The fencing token: greater than that of whoever held the lease before. */
  get token(): number {
    return this.#lease.token;
  }

  /** Aborted when the lease is lost: another process may be refreshing by now. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Gives up with the refresh undone: the lease stays behind, run out, for another process to reclaim. */
  async abandon(): Promise<void> {
    await this.#stop();
    await this.#options.catalog.leases.renew(this.#lease, this.#options.clock(), 0);
  }

  /** Gives the lease back, unless it has been abandoned. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#done.signal.aborted) return;
    await this.#stop();
    await this.#options.catalog.leases.release(this.#lease);
  }

  async #stop(): Promise<void> {
    this.#done.abort();
    await this.#renewing;
  }

  async #renew(): Promise<void> {
    const { catalog, clock, sleep, leaseMillis } = this.#options;
    while (!this.#done.signal.aborted && !this.#lost.signal.aborted) {
      try {
        await sleep(leaseMillis / 3, this.#done.signal);
        const renewed = await catalog.leases.renew(this.#lease, clock(), leaseMillis);
        if (renewed !== undefined) this.#lease = renewed;
        else this.#lost.abort(new LeaseLost(`the lease ${this.#lease.resource} was lost during the refresh`));
      } catch (error) {
        // A catalog that is busy for a moment: the next turn tries again, for as long as the lease still holds.
        if (!this.#done.signal.aborted && clock() >= this.#lease.expiresAt) this.#lost.abort(error);
      }
    }
  }
}
