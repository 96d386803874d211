/**
 * One claimed run: the engine leaves the rows in a file, and they are published as everything else is, under the lease that the
 * run was claimed by. Whatever ends the run ends that lease in the same commit, so nobody else can have taken it up meanwhile.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Catalog, type ClaimedRun, IllegalTransition, LeaseLost } from '../catalog/catalog.ts';
import type { ColumnType } from '../domain/column-type.ts';
import type { Execution, ExecutionError } from '../domain/execution.ts';
import { stagingName } from '../domain/written-names.ts';
import { type Engine, EngineError, type SourceTable } from '../engine/engine.ts';
import { isStorageFull } from '../errors/storage-full.ts';
import { KeptLease, type LeaseOptions } from '../leases/kept-lease.ts';

export interface RunDeps extends LeaseOptions {
  readonly catalog: Pick<Catalog, 'executions' | 'runs' | 'leases'>;
  readonly engine: Engine;
  /** Tables whose columns are declared. */
  readonly sources: readonly SourceTable[];
  readonly publish: PublishRun;
  /** Absolute: where results lie until they are stored. */
  readonly stagingDirectory: string;
  readonly observe: (event: RunEvent) => void;
}

/** Stores the file's rows as the result of the run. Whatever happens, the lease has ended afterwards. */
export type PublishRun = (rows: MadeRows, signal: AbortSignal) => Promise<Execution>;

export interface MadeRows {
  readonly executionId: string;
  readonly queryId: number;
  /** A Parquet file. */
  readonly path: string;
  readonly types: ReadonlyMap<string, ColumnType>;
  readonly lease: KeptLease;
  readonly giveUp: (cause: unknown) => Promise<boolean>;
}

export type RunEvent = { readonly executionId: string; readonly queryId: number } & (
  | { readonly kind: 'started'; readonly claims: number }
  | { readonly kind: 'completed'; readonly rowCount: number; readonly millis: number }
  | { readonly kind: 'failed'; readonly error: ExecutionError; readonly cause: unknown }
  | { readonly kind: 'cancelled' }
  /** The service is stopping: another process, or this one when it is back, takes the run up again. */
  | { readonly kind: 'given_back' }
  /** Another process has taken the run over. */
  | { readonly kind: 'lost' }
);

/** A run that so many processes began and none ended is one that ends processes. */
const CLAIMS_MAX = 3;

/** Why the work on a run is stopped. */
export class RunCancelled extends Error {}

/**
 * Fails only when the catalog does: other failures are the run's.
 * @param stopping aborted when the process is to end
 * @param cancelled aborted when the run has been
 */
export async function runClaimed(
  run: ClaimedRun,
  deps: RunDeps,
  stopping: AbortSignal,
  cancelled: AbortSignal,
): Promise<void> {
  const { engine, clock, observe } = deps;
  const { id: executionId, queryId } = run.execution;
  const facts = { executionId, queryId };
  await using lease = KeptLease.keep(run.lease, { during: 'while the query ran', onError: () => undefined }, deps);
  observe({ ...facts, kind: 'started', claims: run.claims });
  const begunAt = clock();
  const folder = join(deps.stagingDirectory, stagingName(lease.current));
  let outcome: RunEvent | undefined;
  const giveUp = async (cause: unknown): Promise<boolean> => {
    const ending = await end(run, deps, cause, { stopping, cancelled });
    outcome = { ...facts, ...ending };
    return ending.kind !== 'lost';
  };
  try {
    if (run.claims > CLAIMS_MAX)
      throw new EngineError(
        'engine_error',
        `the process that ran the query ended before its time, ${CLAIMS_MAX} times`,
      );
    const working = AbortSignal.any([stopping, cancelled, lease.signal]);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, 'rows.parquet');
    const query = { sql: run.sql, parameters: run.values, sources: deps.sources };
    const made = await engine.materialize(query, path, working);
    const types = new Map(made.columns.filter(isWrittenAsText).map(({ name, type }) => [name, type]));
    await deps.publish({ ...facts, path, types, lease, giveUp }, working);
    outcome = { ...facts, kind: 'completed', rowCount: made.rowCount, millis: clock() - begunAt };
  } catch (cause) {
    if (outcome === undefined) await giveUp(cause);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  if (outcome !== undefined) observe(outcome);
}

/** Parquet has no such values, so the engine wrote texts. */
function isWrittenAsText({ type }: { readonly type: ColumnType }): boolean {
  return ['hugeint', 'uint256', 'interval'].includes(type.kind) || (type.kind === 'time' && type.withZone);
}

type Ending =
  | { readonly kind: 'failed'; readonly error: ExecutionError; readonly cause: unknown }
  | { readonly kind: 'cancelled' | 'given_back' | 'lost' };

async function end(
  run: ClaimedRun,
  { catalog, clock }: Pick<RunDeps, 'catalog' | 'clock'>,
  cause: unknown,
  { stopping, cancelled }: { readonly stopping: AbortSignal; readonly cancelled: AbortSignal },
): Promise<Ending> {
  try {
    if (!cancelled.aborted && stopping.aborted) {
      await catalog.runs.giveBack(run.lease);
      return { kind: 'given_back' };
    }
    if (!cancelled.aborted) {
      const error = errorOf(cause);
      await catalog.executions.fail(run.execution.id, error, clock(), run.lease);
      return { kind: 'failed', error, cause };
    }
  } catch (error) {
    if (error instanceof LeaseLost) return { kind: 'lost' };
    // It was cancelled before we heard of it.
    if (!(error instanceof IllegalTransition)) throw error;
  }
  await catalog.leases.revoke(run.lease);
  return { kind: 'cancelled' };
}

/** What a reader of the execution is told; anything unforeseen is for the log, with the event's `cause`. */
function errorOf(cause: unknown): ExecutionError {
  if (cause instanceof EngineError) {
    const { type, message, line, column } = cause;
    return { type, message, ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
  }
  if (isStorageFull(cause)) return { type: 'storage_full', message: 'a disk of the service is full' };
  if (cause instanceof Error && cause.name === 'PublishError') return { type: 'wrong_result', message: cause.message };
  return {
    type: 'internal_error',
    message: 'the query ran, but its result could not be stored; the log of the service says why',
  };
}
