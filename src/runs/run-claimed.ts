/**
 * Carries out one claimed run. The engine writes the rows to a file, and the file is published like any other, under the lease
 * that claimed the run. Whatever ends the run also ends the lease, in one commit, so no other process can have taken the run
 * over in between.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Catalog, type ClaimedRun, IllegalTransition, LeaseLost } from '../catalog/catalog.ts';
import { columnMismatch } from '../datasets/check-columns.ts';
import { asOfValue, type Dataset } from '../datasets/dataset.ts';
import type { ColumnType } from '../domain/column-type.ts';
import type { Execution, ExecutionError } from '../domain/execution.ts';
import { stagingName } from '../domain/written-names.ts';
import { type Engine, EngineError, isWrittenAsText, type Materialized, type SourceTable } from '../engine/engine.ts';
import { CatalogUnavailable } from '../errors/catalog-unavailable.ts';
import { isStorageFull } from '../errors/storage-full.ts';
import { StoreUnavailable } from '../errors/store-unavailable.ts';
import { makeWorkspace } from '../files/workspace.ts';
import { KeptLease, type LeaseOptions } from '../leases/kept-lease.ts';

export interface RunDeps extends LeaseOptions {
  readonly catalog: Pick<Catalog, 'executions' | 'runs' | 'leases'>;
  readonly engine: Engine;
  /** Source tables whose columns are declared. */
  readonly sources: readonly SourceTable[];
  /** The curated dataset whose query this is, where it is one's: its declaration says what its rows are. */
  readonly findDataset: (queryId: number) => Promise<Dataset | undefined>;
  readonly publish: PublishRun;
  /** Absolute path. The engine's files lie here until their rows are stored. */
  readonly stagingDirectory: string;
  readonly observe: (event: RunEvent) => void;
}

/** Stores the rows of the file as the run's result. Afterwards the lease has ended, also when storing failed. */
export type PublishRun = (rows: EngineRows, signal: AbortSignal) => Promise<Execution>;

export interface EngineRows {
  readonly executionId: string;
  readonly queryId: number;
  /** A Parquet file. */
  readonly path: string;
  readonly types: ReadonlyMap<string, ColumnType>;
  readonly dataset: Dataset | undefined;
  readonly lease: KeptLease;
  readonly giveUp: (cause: unknown) => Promise<boolean>;
}

interface RunFacts {
  readonly executionId: string;
  readonly queryId: number;
  /** The name of the curated dataset that this run refreshes. */
  readonly dataset?: string;
}

export type RunEvent = RunFacts &
  (
    | { readonly kind: 'started'; readonly claims: number }
    | { readonly kind: 'completed'; readonly rowCount: number; readonly millis: number }
    | { readonly kind: 'failed'; readonly error: ExecutionError; readonly cause: unknown }
    | { readonly kind: 'cancelled' }
    /** The service is stopping, or the catalog or the store was away. Whichever process is first takes the run up again. */
    | { readonly kind: 'given_back' }
    /** Another process has taken the run over. */
    | { readonly kind: 'lost' }
  );

/** A run that was begun this often and never ended probably kills its process. */
const CLAIMS_MAX = 3;
/** How long a run whose result cannot be stored waits before it is tried again. It keeps its place: the next could not be stored either. */
const PAUSE_MILLIS = 2000;

/** The reason of the signal that stops a run. */
export class RunCancelled extends Error {}

/**
 * Rejects only when the catalog fails; every other failure becomes the run's error.
 * @param stopping aborted when the process is to end
 * @param cancelled aborted when somebody has cancelled the run
 */
export async function runClaimed(
  run: ClaimedRun,
  deps: RunDeps,
  stopping: AbortSignal,
  cancelled: AbortSignal,
): Promise<void> {
  const { engine, clock, observe } = deps;
  const { id: executionId, queryId } = run.execution;
  await using lease = KeptLease.keep(run.lease, { during: 'while the query ran', onError: () => undefined }, deps);
  let facts: RunFacts = { executionId, queryId };
  const begunAt = clock();
  const folder = join(deps.stagingDirectory, stagingName(lease.current));
  let outcome: RunEvent | undefined;
  let reached: Reached = 'nothing';
  const giveUp = async (cause: unknown): Promise<boolean> => {
    const ending = await end(run, deps, { cause, reached }, { stopping, cancelled, lost: lease.signal });
    outcome = { ...facts, ...ending };
    return ending.kind !== 'lost';
  };
  try {
    const dataset = await deps.findDataset(queryId);
    if (dataset !== undefined) facts = { ...facts, dataset: dataset.name };
    observe({ ...facts, kind: 'started', claims: run.claims });
    if (run.claims > CLAIMS_MAX)
      throw new EngineError(
        'engine_error',
        `the process that ran the query ended before its time, ${CLAIMS_MAX} times`,
      );
    const working = AbortSignal.any([stopping, cancelled, lease.signal]);
    await makeWorkspace(folder);
    const path = join(folder, 'rows.parquet');
    const query =
      dataset === undefined
        ? { sql: run.sql, parameters: run.values, sources: deps.sources }
        : { sql: run.sql, parameters: [...run.values, asOfValue(begunAt)], sources: dataset.sources };
    reached = 'engine';
    const made = await engine.materialize(query, path, working, (progress) => lease.tell(progress));
    reached = 'rows';
    const types = typesOf(made, dataset);
    await deps.publish({ executionId, queryId, path, types, dataset, lease, giveUp }, working);
    outcome = { ...facts, kind: 'completed', rowCount: made.rowCount, millis: clock() - begunAt };
  } catch (cause) {
    if (outcome === undefined) await giveUp(cause);
  } finally {
    // What cannot be removed is swept later. How the run has ended is reported in any case.
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
  if (outcome !== undefined) observe(outcome);
}

/**
 * The types of the columns for which Parquet has no type; of a dataset, those of all.
 * @throws EngineError when the columns are not those that the dataset declares
 */
function typesOf({ columns }: Materialized, dataset: Dataset | undefined): ReadonlyMap<string, ColumnType> {
  const mismatch = dataset && columnMismatch(dataset, columns);
  if (mismatch !== undefined) throw new EngineError('column_mismatch', mismatch);
  return new Map((dataset?.columns ?? columns.filter(isWrittenAsText)).map(({ name, type }) => [name, type]));
}

type Ending =
  | { readonly kind: 'failed'; readonly error: ExecutionError; readonly cause: unknown }
  | { readonly kind: 'cancelled' | 'given_back' | 'lost' };

interface Stops {
  readonly stopping: AbortSignal;
  readonly cancelled: AbortSignal;
  /** Aborted when the lease is lost. */
  readonly lost: AbortSignal;
}

/** How far a run has come. */
type Reached = 'nothing' | 'engine' | 'rows';

interface Failure {
  readonly cause: unknown;
  readonly reached: Reached;
}

async function end(run: ClaimedRun, deps: RunDeps, { cause, reached }: Failure, stops: Stops): Promise<Ending> {
  const { catalog, clock } = deps;
  try {
    const isAway = isUnavailable(cause);
    if (isAway) await pause(deps, stops);
    if (!stops.cancelled.aborted && (isAway || stops.stopping.aborted)) return await giveBack(run, deps, stops);
    if (!stops.cancelled.aborted) {
      const error = errorOf({ cause, reached });
      await catalog.executions.fail(run.execution.id, error, clock(), run.lease);
      return { kind: 'failed', error, cause };
    }
  } catch (error) {
    if (error instanceof LeaseLost) return { kind: 'lost' };
    // The run was cancelled before this process heard of it.
    if (!(error instanceof IllegalTransition)) throw error;
  }
  // Without the lease it was no cancelling: the run has ended in another way, perhaps by a commit of ours whose answer was lost.
  return { kind: (await catalog.leases.revoke(run.lease)) ? 'cancelled' : 'lost' };
}

/** Whether the catalog or the store was away: then the run is not at fault, and its next attempt may succeed. */
function isUnavailable(cause: unknown): boolean {
  return cause instanceof CatalogUnavailable || cause instanceof StoreUnavailable;
}

/** Ends early when there is a reason to. */
async function pause({ sleep }: Pick<RunDeps, 'sleep'>, { stopping, cancelled, lost }: Stops): Promise<void> {
  await sleep(PAUSE_MILLIS, AbortSignal.any([stopping, cancelled, lost])).catch(() => undefined);
}

/** Tries as long as the lease holds. When it is lost, another process takes the run up by itself. */
async function giveBack(run: ClaimedRun, deps: RunDeps, stops: Stops): Promise<Ending> {
  for (;;) {
    try {
      return { kind: (await deps.catalog.runs.giveBack(run.lease)) ? 'given_back' : 'lost' };
    } catch (error) {
      if (!isUnavailable(error) || stops.stopping.aborted || stops.lost.aborted) throw error;
      await pause(deps, stops);
    }
  }
}

const UNEXPECTED: Readonly<Record<Reached, string>> = {
  nothing: 'the query was not run, for a reason that is not its own; the log of the service says which',
  engine: 'the query could not be run to its end, for a reason that is not its own; the log of the service says which',
  rows: 'the query ran, but its result could not be stored; the log of the service says why',
};

/** What a reader of the execution is told. An unexpected failure is told in the log only, with the event's `cause`. */
function errorOf({ cause, reached }: Failure): ExecutionError {
  // The engine itself says no more of it than that the query is not at fault.
  if (isStorageFull(cause)) return { type: 'storage_full', message: 'a disk of the service is full' };
  if (cause instanceof EngineError) {
    const { type, message, line, column } = cause;
    return { type, message, ...(line !== undefined && { line }), ...(column !== undefined && { column }) };
  }
  if (cause instanceof Error && cause.name === 'PublishError') return { type: 'wrong_result', message: cause.message };
  return { type: 'internal_error', message: UNEXPECTED[reached] };
}
