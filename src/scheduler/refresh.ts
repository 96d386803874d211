/**
 * One refresh of a dataset: an execution like any other. PENDING → EXECUTING → the engine leaves the rows in a file → their
 * columns are checked against the declaration → published, which commits them. When it fails, the error is on the failed
 * execution and the last good result stays what the address answers.
 */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Catalog, IllegalTransition, LeaseLost } from '../catalog/catalog.ts';
import { columnMismatch } from '../datasets/check-columns.ts';
import { type Dataset, sqlAsOf } from '../datasets/dataset.ts';
import type { Execution, ExecutionError } from '../domain/execution.ts';
import { type Clock, DAY_MILLIS, type Instant } from '../domain/instant.ts';
import type { Column } from '../domain/result-set.ts';
import { type Engine, EngineError } from '../engine/engine.ts';
import type { KeptLease } from '../leases/kept-lease.ts';

export interface RefreshDeps {
  readonly catalog: Pick<Catalog, 'executions' | 'leases'>;
  /** Names this process among all that share the catalog. */
  readonly owner: string;
  readonly engine: Engine;
  readonly publish: PublishRefresh;
  readonly clock: Clock;
  readonly newExecutionId: (now: Instant) => string;
  /** Absolute, and for this alone: where the engine leaves its files until they are published. */
  readonly stagingDirectory: string;
  readonly observe: (event: RefreshEvent) => void;
}

/** Stores the file's rows as the result of the execution and completes it. */
export type PublishRefresh = (run: PublishedRun, signal: AbortSignal) => Promise<Execution>;

export interface PublishedRun {
  /** EXECUTING. */
  readonly executionId: string;
  readonly queryId: number;
  /** A Parquet file whose columns are these, in this order. */
  readonly path: string;
  readonly columns: readonly Column[];
}

interface RefreshFacts {
  readonly dataset: string;
  readonly executionId: string;
}

export type RefreshOutcome =
  | (RefreshFacts & { readonly kind: 'refreshed'; readonly rowCount: number; readonly millis: number })
  | (RefreshFacts & { readonly kind: 'failed'; readonly error: ExecutionError; readonly cause: unknown })
  /** The service is stopping: another process, or this one when it is back, takes it up again. */
  | (RefreshFacts & { readonly kind: 'interrupted' });

export type RefreshEvent =
  | (RefreshFacts & { readonly kind: 'started' })
  /** A run that was left unfinished by a process that is gone has been failed. */
  | (RefreshFacts & { readonly kind: 'orphan_failed' })
  | RefreshOutcome;

/**
 * A lease `refreshing:<dataset>:<execution>` marks a run as a refresh's own, from before it is added until it has ended. It is
 * no right: that is the refresh lease, whose owner finds by these marks what an earlier one left unfinished.
 */
const MARK = 'refreshing:';
const MARK_MILLIS = DAY_MILLIS;

/** Refreshes the dataset, whose lease the caller holds. Fails only when the catalog does: other failures are an outcome. */
export async function refreshDataset(
  dataset: Dataset,
  lease: Pick<KeptLease, 'signal' | 'token'>,
  deps: RefreshDeps,
  signal: AbortSignal,
): Promise<RefreshOutcome> {
  const { catalog, clock, observe } = deps;
  await failOrphans(dataset, deps);
  const submittedAt = clock();
  const executionId = deps.newExecutionId(submittedAt);
  const facts = { dataset: dataset.name, executionId };
  const mark = await catalog.leases.acquire(
    `${MARK}${dataset.name}:${executionId}`,
    deps.owner,
    submittedAt,
    MARK_MILLIS,
  );
  await catalog.executions.add({
    id: executionId,
    queryId: dataset.queryId,
    parameters: {},
    state: 'PENDING',
    submittedAt,
  });
  observe({ ...facts, kind: 'started' });
  let outcome: RefreshOutcome;
  try {
    const rowCount = await run(dataset, executionId, lease, deps, AbortSignal.any([signal, lease.signal]));
    outcome = { ...facts, kind: 'refreshed', rowCount, millis: clock() - submittedAt };
  } catch (cause) {
    const step = signal.aborted
      ? catalog.executions.cancel(executionId, clock())
      : catalog.executions.fail(executionId, errorOf(cause), clock());
    // Finished already: by whoever took the lease over, or because the publishing was committed before it was stopped.
    await step.catch((error: unknown) => {
      if (!(error instanceof IllegalTransition)) throw error;
    });
    outcome = signal.aborted
      ? { ...facts, kind: 'interrupted' }
      : { ...facts, kind: 'failed', error: errorOf(cause), cause };
  }
  if (mark !== undefined) await catalog.leases.release(mark);
  observe(outcome);
  return outcome;
}

/** @returns the number of rows */
async function run(
  dataset: Dataset,
  executionId: string,
  lease: Pick<KeptLease, 'token'>,
  deps: RefreshDeps,
  signal: AbortSignal,
): Promise<number> {
  const { startedAt = deps.clock() } = await deps.catalog.executions.start(executionId, deps.clock());
  const path = await stage(dataset, lease, deps);
  try {
    const query = { sql: sqlAsOf(dataset, startedAt), sources: dataset.sources };
    const { columns, rowCount } = await deps.engine.materialize(query, path, signal);
    const mismatch = columnMismatch(dataset.columns, columns);
    if (mismatch !== undefined) throw new EngineError('column_mismatch', mismatch);
    await deps.publish({ executionId, queryId: dataset.queryId, path, columns: dataset.columns }, signal);
    return rowCount;
  } finally {
    await rm(path, { force: true });
  }
}

/** A path for the engine's file, once what an earlier owner of the lease left behind is gone. */
async function stage(dataset: Dataset, { token }: Pick<KeptLease, 'token'>, deps: RefreshDeps): Promise<string> {
  await mkdir(deps.stagingDirectory, { recursive: true });
  for (const name of await readdir(deps.stagingDirectory)) {
    const left = /^(?:tmp_)?([a-z0-9-]+)\.[0-9]+\.parquet$/.exec(name)?.[1] === dataset.name;
    if (left) await rm(join(deps.stagingDirectory, name), { force: true });
  }
  return join(deps.stagingDirectory, `${dataset.name}.${token}.parquet`);
}

/**
 * Whoever holds the lease is the only one refreshing, so runs that are marked are leftovers. Failing them is the fence, too: a
 * owner that was only asleep cannot complete its run any more. Runs of the dataset's query that others submitted are theirs.
 */
async function failOrphans(dataset: Dataset, { catalog, clock, observe }: RefreshDeps): Promise<void> {
  const prefix = `${MARK}${dataset.name}:`;
  for (const mark of await catalog.leases.list(prefix)) {
    const executionId = mark.resource.slice(prefix.length);
    const error = { type: 'interrupted', message: 'the process that ran this refresh ended or was cut off' };
    try {
      await catalog.executions.fail(executionId, error, clock());
      observe({ dataset: dataset.name, executionId, kind: 'orphan_failed' });
    } catch (failure) {
      // It had ended, or was never added: only its mark was left.
      if (!(failure instanceof IllegalTransition)) throw failure;
    }
    await catalog.leases.revoke(mark);
  }
}

/** What a reader of the execution is told; anything unforeseen is for the log, with the outcome's `cause`. */
function errorOf(cause: unknown): ExecutionError {
  if (cause instanceof EngineError) {
    const { type, message, line, column } = cause;
    return { type, message, ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
  }
  if (cause instanceof LeaseLost) return { type: 'interrupted', message: cause.message };
  return { type: 'internal_error', message: 'the refresh could not be stored; the log of the service says why' };
}
