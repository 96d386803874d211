/** One run, now, by this process, unless another that works on the same catalog is quicker to claim it: what commands do. */
import type { Catalog } from '../catalog/catalog.ts';
import { type Execution, type ExecutionState, STATES } from '../domain/execution.ts';
import { writeResource } from '../domain/lease-names.ts';
import { type RunnerDeps, runQueued } from './runner.ts';

/** How often to look whether the run has ended. */
const LOOK_MILLIS = 200;

/**
 * @param onLook told of the state that the run is in
 * @returns the run, ended
 * @throws the signal's reason once it is aborted: the run has been given back then
 */
export async function runNow(
  executionId: string,
  deps: RunnerDeps,
  signal: AbortSignal,
  onLook: (state: ExecutionState) => void = () => undefined,
): Promise<Execution> {
  const { catalog, sleep } = deps;
  const ended = new AbortController();
  const only = { only: executionId, runningOfKeyMax: Number.MAX_SAFE_INTEGER };
  const running = runQueued({ ...deps, ...only }, ended.signal);
  try {
    for (;;) {
      const execution = await catalog.executions.find(executionId);
      if (execution === undefined) throw new Error(`run ${executionId} is gone: its query was removed`);
      if (STATES[execution.state].terminal) return execution;
      onLook(execution.state);
      await sleep(LOOK_MILLIS, signal);
    }
  } finally {
    ended.abort(new Error('what waited for the run has ended'));
    await running;
  }
}

/** Whether a process that may be alive has claimed the run; by the catalog's clock, since leases are. */
export async function isBeingRun(
  executionId: string,
  catalog: Pick<Catalog, 'leases' | 'now'>,
  isLeaseOwnerDead: (owner: string) => boolean,
): Promise<boolean> {
  const [leases, now] = [await catalog.leases.list(writeResource(executionId)), await catalog.now()];
  return leases.some(({ owner, expiresAt }) => expiresAt > now && !isLeaseOwnerDead(owner));
}
