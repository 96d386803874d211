/**
 * The right to write one execution's objects, held by renewing it while the work goes on. Losing it aborts the work: somebody
 * found us dead and may have swept what we wrote, so nothing may be committed.
 */
import { type Catalog, type Lease, LeaseLost } from '../catalog/catalog.ts';
import type { Clock } from '../domain/instant.ts';
import { writeResource } from '../domain/written-names.ts';

export interface WriteLeaseOptions {
  readonly catalog: Pick<Catalog, 'leases'>;
  readonly clock: Clock;
  readonly owner: string;
  readonly leaseMillis: number;
}

export class WriteLease implements AsyncDisposable {
  readonly #options: WriteLeaseOptions;
  readonly #lost = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #lease: Lease;

  private constructor(lease: Lease, options: WriteLeaseOptions) {
    this.#lease = lease;
    this.#options = options;
    this.#timer = setInterval(() => void this.#renew(), options.leaseMillis / 3);
  }

  /** The lease, or undefined while somebody else writes this execution. */
  static async acquire(executionId: string, options: WriteLeaseOptions): Promise<WriteLease | undefined> {
    const { catalog, clock, owner, leaseMillis } = options;
    const lease = await catalog.leases.acquire(writeResource(executionId), owner, clock(), leaseMillis);
    return lease === undefined ? undefined : new WriteLease(lease, options);
  }

  get current(): Lease {
    return this.#lease;
  }

  /** Aborted when the lease is lost. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Gives it back, durably. @returns false when it was not held any more: spent by the commit that it guarded, or lost */
  async end(): Promise<boolean> {
    clearInterval(this.#timer);
    return await this.#options.catalog.leases.revoke(this.#lease);
  }

  /** One that cannot be given back now runs out by itself. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end().catch(() => undefined);
  }

  async #renew(): Promise<void> {
    const { catalog, clock, leaseMillis } = this.#options;
    try {
      const renewed = await catalog.leases.renew(this.#lease, clock(), leaseMillis);
      if (renewed !== undefined) this.#lease = renewed;
      else this.#lost.abort(new LeaseLost(`the lease ${this.#lease.resource} was lost while publishing`));
    } catch (error) {
      // A catalog that is busy for a moment: the next turn tries again, and the commit has the last word.
      if (clock() > this.#lease.expiresAt) this.#lost.abort(error);
    }
  }
}
