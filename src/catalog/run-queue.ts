/** The part of the catalog that is the queue of runs. */
import type { Execution } from '../domain/execution.ts';
import type { Instant } from '../domain/instant.ts';
import type { ParameterValue } from '../domain/parameter-values.ts';
import type { RunProgress } from '../domain/run-progress.ts';
import type { Lease } from './leases.ts';

/**
 * The queue of runs that the service's own engine runs: those that are PENDING, in the order of `Executions.list` turned around,
 * and those that are being run. A run is claimed by taking its write lease, which its result is committed under: so whoever
 * lost it commits nothing. It leaves the queue with the step that ends it.
 */
export interface Runs {
  /**
   * Adds a run that is PENDING, unless one of the same `identity` waits or runs already, or too many wait.
   * @throws CatalogConflict as `Executions.add` does
   */
  enqueue(run: NewRun, limits: WaitingLimits): Promise<Enqueued>;
  /** The next run that nobody runs, PENDING or left by a process that lost its lease: EXECUTING now, and leased to the owner. */
  claim(request: ClaimRequest): Promise<ClaimedRun | undefined>;
  /** Gives up a claim with the work undone, as if it had not been made. @returns false when the lease was not held any more */
  giveBack(lease: Lease): Promise<boolean>;
  /** Whether this run waits for the service's engine, or is run by it. */
  has(executionId: string): Promise<boolean>;
  /** How far a run is, as its holder said when it last renewed its lease; undefined where nobody holds it, or nothing was said. */
  findProgress(executionId: string): Promise<RunProgress | undefined>;
  /** How many wait, and how many have been started. */
  count(): Promise<{ readonly waiting: number; readonly running: number }>;
}

export interface NewRun {
  readonly execution: Execution;
  /** As of now: later changes of the query do not change what this run runs. */
  readonly sql: string;
  readonly values: readonly ParameterValue[];
  /** Who asked for it; undefined for what the service itself or a command asked for, to which no limits apply. */
  readonly keyId?: string;
  /** Of two runs with the same identity only one waits or runs at a time. */
  readonly identity?: string;
  /** The tick of a schedule that asks for it, claimed in the same step. */
  readonly tick?: { readonly schedule: string; readonly at: Instant };
}

export interface ClaimRequest {
  readonly owner: string;
  /** Kept as the run's start. */
  readonly at: Instant;
  readonly leaseMillis: number;
  /** Not one of a key of which so many are being run already. */
  readonly runningOfKeyMax: number;
  /** Only this run, or none. */
  readonly only?: string;
}

export interface WaitingLimits {
  readonly waitingMax: number;
  readonly waitingOfKeyMax: number;
}

export type Enqueued =
  | { readonly kind: 'added' | 'joined'; readonly execution: Execution }
  | { readonly kind: 'too_many' | 'too_many_of_key' }
  /** Nothing was added: another process has the tick, or the run of an earlier one is still going on, and the tick is free. */
  | { readonly kind: 'tick_claimed' | 'running' };

export interface ClaimedRun extends Omit<NewRun, 'tick'> {
  readonly lease: Lease;
  /** How often it has been claimed, this time included. */
  readonly claims: number;
}
