/**
 * A lease that is renewed for as long as the work under it goes on: the one keeper of the leases for writing and
 * reading. Losing the lease aborts its signal: another process may hold it by then.
 */
import { type Catalog, type Lease, LeaseLost } from '../catalog/catalog.ts';
import type { Clock, Instant } from '../domain/instant.ts';
import type { RunProgress } from '../domain/run-progress.ts';
import type { Sleep } from '../domain/time.ts';

export interface LeaseOptions {
  readonly catalog: Pick<Catalog, 'leases'>;
  readonly clock: Clock;
  readonly sleep: Sleep;
  /** Names this process among all that share the catalog. */
  readonly owner: string;
  /** How long the lease holds without being renewed; it is renewed three times as often. */
  readonly leaseMillis: number;
}

export interface KeptWork {
  /** Stands in the error of a lost lease: `while publishing`. */
  readonly during: string;
  /** Told of a renewal or a return that failed; a return that fails throws when this is left out. */
  readonly onError?: (error: unknown) => void;
}

/** The shortest time between two renewals, where one comes early to tell how far the work is. */
const TOLD_MILLIS = 3000;

export class KeptLease implements AsyncDisposable {
  readonly #options: LeaseOptions;
  readonly #work: KeptWork;
  readonly #lost = new AbortController();
  readonly #done = new AbortController();
  readonly #renewing: Promise<void>;
  #lease: Lease;
  /** By this process's clock, which may differ from the catalog's: it ran out at the earliest then. */
  #heldUntil: Instant;
  #askedAt: Instant;
  #progress: RunProgress | undefined;
  /** Ends the pause before the next renewal. */
  #pause = new AbortController();

  private constructor(lease: Lease, askedAt: Instant, work: KeptWork, options: LeaseOptions) {
    this.#lease = lease;
    this.#heldUntil = askedAt + options.leaseMillis;
    this.#askedAt = askedAt;
    this.#work = work;
    this.#options = options;
    this.#renewing = this.#renew();
  }

  /** The lease, or undefined while somebody else holds it. */
  static async acquire(resource: string, work: KeptWork, options: LeaseOptions): Promise<KeptLease | undefined> {
    const { catalog, clock, owner, leaseMillis } = options;
    const askedAt = clock();
    const lease = await catalog.leases.acquire(resource, owner, leaseMillis);
    return lease === undefined ? undefined : new KeptLease(lease, askedAt, work, options);
  }

  /** Keeps a lease that was acquired as part of another step. */
  static keep(lease: Lease, work: KeptWork, options: LeaseOptions): KeptLease {
    return new KeptLease(lease, options.clock(), work, options);
  }

  get current(): Lease {
    return this.#lease;
  }

  /** The fencing token: greater than that of whoever held the lease before. */
  get token(): number {
    return this.#lease.token;
  }

  /** Aborted when the lease is lost. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** How far the work is: the catalog is told with the next renewal, which comes early for it, though not within 3 s of the last. */
  tell(progress: RunProgress): void {
    this.#progress = progress;
    if (this.#options.clock() - this.#askedAt >= TOLD_MILLIS) this.#pause.abort();
  }

  /** Gives it back, durably. @returns false when it was not held any more: spent by the commit that it guarded, or lost */
  async end(): Promise<boolean> {
    await this.#stop();
    return await this.#options.catalog.leases.revoke(this.#lease);
  }

  /** Gives it back, unless that was done before. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#done.signal.aborted) return;
    try {
      await this.end();
    } catch (error) {
      if (this.#work.onError === undefined) throw error;
      this.#work.onError(error);
    }
  }

  async #stop(): Promise<void> {
    this.#done.abort();
    await this.#renewing;
  }

  async #renew(): Promise<void> {
    const { catalog, clock, sleep, leaseMillis } = this.#options;
    while (!this.#done.signal.aborted && !this.#lost.signal.aborted) {
      try {
        await this.#untilNext(sleep, leaseMillis / 3);
        const askedAt = clock();
        this.#askedAt = askedAt;
        const renewed = await catalog.leases.renew(this.#lease, leaseMillis, this.#progress);
        if (renewed !== undefined) {
          this.#lease = renewed;
          this.#heldUntil = askedAt + leaseMillis;
        } else this.#lost.abort(new LeaseLost(`the lease ${this.#lease.resource} was lost ${this.#work.during}`));
      } catch (error) {
        if (this.#done.signal.aborted) return;
        this.#work.onError?.(error);
        // A catalog that is busy for a moment: the next turn tries again, for as long as the lease still holds.
        if (clock() >= this.#heldUntil) this.#lost.abort(error);
      }
    }
  }

  async #untilNext(sleep: Sleep, millis: number): Promise<void> {
    this.#pause = new AbortController();
    try {
      await sleep(millis, AbortSignal.any([this.#done.signal, this.#pause.signal]));
    } catch (error) {
      if (!this.#pause.signal.aborted || this.#done.signal.aborted) throw error;
    }
  }
}
