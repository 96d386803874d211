/** The part of the catalog that gives leases. */
import type { Instant } from '../domain/instant.ts';
import type { RunProgress } from '../domain/run-progress.ts';

/**
 * A lease is an exclusive right for a while: to write the objects of an execution (`write:<id>`), or to have them kept during a long read
 * (`read:<id>:<nonce>`). How long it holds, the catalog's clock tells (`Catalog.now`), whatever the clocks of its holders say.
 */
export interface Lease {
  readonly resource: string;
  readonly owner: string;
  /** Fencing token: greater for every new owner of the same resource, and given once, also by a catalog that was put back to an earlier moment. */
  readonly token: number;
  /** By the catalog's clock. */
  readonly expiresAt: Instant;
}

export interface Leases {
  /**
   * The lease, or undefined while someone else holds it. A lease past its time counts as free, and so does one that ends later than any can:
   * the clock that gave it was wrong, which a host's may be, and a database's after a move to another machine.
   */
  acquire(resource: string, owner: string, durationMillis: number): Promise<Lease | undefined>;
  /**
   * The lease with a later end, or undefined when it has been lost.
   * @param progress of the run that is carried out under it, for `Runs.findProgress`; left out: as it was
   */
  renew(lease: Lease, durationMillis: number, progress?: RunProgress): Promise<Lease | undefined>;
  /** Gives it back. Does nothing if it is no longer held. */
  release(lease: Lease): Promise<void>;
  /** The leases, past their time or not, whose resource begins with `prefix`. */
  list(prefix: string): Promise<readonly Lease[]>;
  /** Ends somebody else's lease, when it is still the same one. The owner's next guarded commit throws LeaseLost. */
  revoke(lease: Lease): Promise<boolean>;
}
