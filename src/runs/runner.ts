/**
 * Takes runs from the queue. Every process of the service claims the next run whenever it has room; the catalog decides which
 * process gets it. A runner looks again when this process submits or cancels a run, when a run ends, and every `pollMillis` for
 * what other processes did.
 */
import type { ClaimedRun } from '../catalog/catalog.ts';
import { STATES } from '../domain/execution.ts';
import { isRecent } from '../domain/instant.ts';
import { executionOfWriter, LEASE_KINDS } from '../domain/lease-names.ts';
import { RunCancelled, type RunDeps, runClaimed } from './run-claimed.ts';
import type { RunQueue } from './run-queue.ts';

export interface RunnerDeps extends RunDeps {
  readonly queue: Pick<RunQueue, 'listen'>;
  /** True only when the process of that name is certainly gone, so its leases need not expire first. */
  readonly isLeaseOwnerDead: (owner: string) => boolean;
  /** The most runs at a time in this process. */
  readonly runningMax: number;
  /** The most runs of one key at a time, over all processes. */
  readonly runningOfKeyMax: number;
  /** Claim only this run. */
  readonly only?: string;
  /** The longest time between two looks at the catalog. */
  readonly pollMillis: number;
  /** Told when something other than a run failed. The runner goes on. */
  readonly onFault: (what: string, error: unknown) => void;
}

interface Running {
  readonly executionId: string;
  readonly cancel: AbortController;
  readonly ended: Promise<void>;
}

/** Claims and carries out runs until the signal is aborted. What is still running then is given back to the queue. */
export async function runQueued(deps: RunnerDeps, signal: AbortSignal): Promise<void> {
  const runner = new Runner(deps, signal);
  using _ = runner;
  while (!signal.aborted) {
    const change = runner.nextChange();
    try {
      await runner.look();
    } catch (error) {
      if (!signal.aborted) deps.onFault('the queue of runs', error);
    }
    const rested = new AbortController();
    const rest = deps.sleep(deps.pollMillis, AbortSignal.any([signal, rested.signal])).catch(() => undefined);
    await Promise.race([change, rest]);
    rested.abort();
  }
  await runner.drained();
}

export class Runner implements Disposable {
  readonly #deps: RunnerDeps;
  readonly #signal: AbortSignal;
  readonly #running = new Set<Running>();
  readonly #stopListening: () => void;
  #changed = Promise.withResolvers<void>();
  #reclaimedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: RunnerDeps, signal: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
    this.#stopListening = deps.queue.listen((change) => {
      if (change.kind === 'cancelled') this.#cancel(change.executionId);
      this.#changed.resolve();
    });
  }

  /** Resolves at the next change after this call that is a reason to look. */
  nextChange(): Promise<void> {
    this.#changed = Promise.withResolvers<void>();
    return this.#changed.promise;
  }

  /** Claims as many runs as there is room for, and stops those that other processes cancelled. */
  async look(): Promise<void> {
    const { catalog, owner, clock, leaseMillis, runningMax, runningOfKeyMax, only } = this.#deps;
    for (const { executionId } of this.#running) {
      const execution = await catalog.executions.find(executionId);
      if (execution === undefined || STATES[execution.state].terminal) this.#cancel(executionId);
    }
    await this.#reclaimDead();
    while (this.#running.size < runningMax && !this.#signal.aborted) {
      const run = await catalog.runs.claim({
        owner,
        at: clock(),
        leaseMillis,
        runningOfKeyMax,
        ...(only !== undefined && { only }),
      });
      if (run === undefined) return;
      this.#start(run);
    }
  }

  /** Resolves when nothing is running any more. */
  async drained(): Promise<void> {
    await Promise.all([...this.#running].map(({ ended }) => ended));
  }

  [Symbol.dispose](): void {
    this.#stopListening();
  }

  #start(run: ClaimedRun): void {
    const { id } = run.execution;
    // Its lease ran out while this process was suspended, or the clock was set ahead: what runs already has lost it.
    this.#cancel(id);
    const cancel = new AbortController();
    const ended = runClaimed(run, this.#deps, this.#signal, cancel.signal)
      .catch((error: unknown) => this.#deps.onFault(`run ${id}`, error))
      .finally(() => {
        this.#running.delete(running);
        this.#changed.resolve();
      });
    const running: Running = { executionId: id, cancel, ended };
    this.#running.add(running);
  }

  #cancel(executionId: string): void {
    for (const running of this.#running) {
      if (running.executionId === executionId) running.cancel.abort(new RunCancelled('the run was cancelled'));
    }
  }

  /** Ends the leases of processes that are gone. Looks for them as often as a lease would be renewed. */
  async #reclaimDead(): Promise<void> {
    const { catalog, clock, leaseMillis, isLeaseOwnerDead } = this.#deps;
    if (isRecent(this.#reclaimedAt, clock(), leaseMillis / 3)) return;
    this.#reclaimedAt = clock();
    for (const lease of await catalog.leases.list(LEASE_KINDS.write)) {
      if (!isLeaseOwnerDead(lease.owner)) continue;
      if (await catalog.runs.has(executionOfWriter(lease))) await catalog.leases.revoke(lease);
    }
  }
}
