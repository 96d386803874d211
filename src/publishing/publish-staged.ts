/**
 * From staged parts to a result: the lease, the objects, the commit, and what happens when one of them fails. How rows become parts is in
 * publish.ts, so that the simulator can run this file as it is, without a DuckDB.
 *
 * The commit is what makes the result exist. Until then everything lies in folders of this writer's own, under its lease; a
 * publish that fails removes them, and what a killed one leaves is swept (sweep.ts).
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Catalog,
  type Completion,
  type Executions,
  IllegalTransition,
  type Queries,
  QueryArchived,
  RUN_BY_ENGINE,
  type Runs,
} from '../catalog/catalog.ts';
import { type Execution, STATES } from '../domain/execution.ts';
import type { Clock, Instant } from '../domain/instant.ts';
import { executionOfWriter } from '../domain/lease-names.ts';
import { archivedProblem } from '../domain/query.ts';
import type { BloomFilters, Part, ResultSet } from '../domain/result-set.ts';
import { expiryOf } from '../domain/retention.ts';
import { sumOf } from '../domain/sum-of.ts';
import type { Sleep } from '../domain/time.ts';
import {
  bloomFiltersKey,
  partKey,
  preSampleKey,
  stagingName,
  writerOfKey,
  writerPrefix,
} from '../domain/written-names.ts';
import { isStorageFull } from '../errors/storage-full.ts';
import type { KeptLease } from '../leases/kept-lease.ts';
import { acquireWriteLease } from '../leases/write-lease.ts';
import type { ResultStore } from '../store/result-store.ts';
import { PublishError } from './publish-error.ts';
import type { StagedBloomFilters } from './write/bloom-filters.ts';
import type { Converted } from './write/convert.ts';
import type { StagedPart } from './write/measure-part.ts';

export interface WriteDependencies {
  readonly catalog: Pick<Catalog, 'leases'> & {
    readonly executions: Pick<Executions, 'find' | 'findResultSet' | 'findNewestPlace' | 'addCompleted' | 'complete'>;
    readonly queries: Pick<Queries, 'find'>;
    readonly runs: Pick<Runs, 'has'>;
  };
  readonly store: ResultStore;
  /** Absolute; on the same filesystem as a local store, so that parts are moved and not copied. */
  readonly stagingDirectory: string;
  readonly clock: Clock;
  readonly sleep: Sleep;
  /** A new execution id: a ULID. */
  readonly newId: () => string;
  /** This process, as `currentLeaseOwner` names it. */
  readonly owner: string;
}

export interface WriteRequest {
  readonly queryId: number;
  readonly parameters?: Readonly<Record<string, string>>;
  /** Completes this run, begun before; a new one when left out. */
  readonly executionId?: string;
  /** The write lease of that run, where it is held already. It is given back at the end in any case. */
  readonly held?: HeldLease;
}

export interface HeldLease {
  readonly lease: KeptLease;
  /**
   * Ends the lease after a failure, in the same commit as whatever else the failure means.
   * @returns false when it was not held any more
   */
  readonly giveUp: (cause: unknown) => Promise<boolean>;
}

export interface WriteOptions {
  readonly retentionDays: number;
  readonly leaseMillis: number;
}

/** How parts are made of the rows, and who is told of the progress. */
export interface StagedRows {
  /** Makes the parts, in a folder of this writer alone. */
  readonly stage: (folder: string, signal: AbortSignal) => Promise<Converted>;
  readonly onStored: (parts: number, partsTotal: number) => void;
}

/** As `publish`, of rows that `stage` makes parts of. */
export async function publishStaged(
  dependencies: WriteDependencies,
  request: WriteRequest,
  options: WriteOptions,
  { stage, onStored }: StagedRows,
  signal: AbortSignal,
): Promise<Execution> {
  const { catalog } = dependencies;
  const execution = await executionToComplete(dependencies, request, dependencies.clock());
  const after =
    request.executionId === undefined ? await catalog.executions.findNewestPlace(request.queryId) : undefined;
  const { held } = request;
  const lease = held?.lease ?? (await acquireWriteLease(execution.id, { ...dependencies, ...options }));
  if (lease === undefined) {
    throw new PublishError(`execution ${execution.id} is being published by another process`, { kind: 'busy' });
  }
  const staging = join(dependencies.stagingDirectory, stagingName(lease.current));
  const working = AbortSignal.any([signal, lease.signal]);
  let resultSet: ResultSet | undefined;
  try {
    const staged = await stage(staging, working);
    resultSet = await store(dependencies.store, staged, writerPrefix(lease.current), working, onStored);
    working.throwIfAborted();
    const completion = completionOf(execution, resultSet, dependencies.clock(), options.retentionDays);
    return request.executionId === undefined
      ? await catalog.executions.addCompleted(execution, completion, lease.current, {
          clock: dependencies.clock,
          after,
        })
      : await catalog.executions.complete(execution.id, completion, lease.current);
  } catch (error) {
    const giveUp = async () => await (held === undefined ? lease.end() : held.giveUp(error));
    const committed = await settle(dependencies, resultSet, lease, giveUp);
    if (committed !== undefined) return committed;
    // It was archived after the first look.
    if (error instanceof QueryArchived) throw new PublishError(error.message, { cause: error, kind: 'archived' });
    if (!isStorageFull(error)) throw error;
    throw new PublishError(
      'nothing was published, since a disk of the service is full: free some space (`qrs sweep` deletes what has expired)',
      { cause: error, kind: 'full' },
    );
  } finally {
    // What cannot be removed is swept later: a result that was committed is published all the same.
    await rm(staging, { recursive: true, force: true }).catch(() => undefined);
    await lease[Symbol.asyncDispose]();
  }
}

async function executionToComplete(
  { catalog, newId }: WriteDependencies,
  { queryId, executionId, parameters, held }: WriteRequest,
  now: Instant,
): Promise<Execution> {
  const query = await catalog.queries.find(queryId);
  if (query === undefined) throw new PublishError(`there is no query ${queryId}: add it first`);
  if (executionId === undefined) {
    if (query.isArchived) throw new PublishError(archivedProblem(query), { kind: 'archived' });
    return { id: newId(), queryId, parameters: parameters ?? {}, state: 'PENDING', submittedAt: now, startedAt: now };
  }
  const execution = await catalog.executions.find(executionId);
  if (execution === undefined || STATES[execution.state].terminal) {
    throw new IllegalTransition(executionId, execution?.state, 'COMPLETED');
  }
  if (execution.queryId !== queryId) {
    throw new PublishError(`execution ${executionId} is a run of query ${execution.queryId}, not of query ${queryId}`);
  }
  // A run is in the queue from its beginning to its end, so one look is enough.
  if (held === undefined && (await catalog.runs.has(executionId))) {
    throw new IllegalTransition(executionId, execution.state, 'COMPLETED', RUN_BY_ENGINE);
  }
  return execution;
}

async function store(
  resultStore: ResultStore,
  { columns, parts, truncated, sample }: Converted,
  prefix: string,
  signal: AbortSignal,
  onStored: StagedRows['onStored'],
): Promise<ResultSet> {
  const stored: Part[] = [];
  for (const { path, bloomFilters, ...part } of parts) {
    onStored(stored.length, parts.length);
    const key = partKey(prefix, stored.length);
    await resultStore.put(key, path, signal);
    const filters = bloomFilters && (await storeFilters(resultStore, bloomFilters, key, signal));
    stored.push({ key, ...part, ...(filters && { bloomFilters: filters }) });
  }
  const rowCount = sumOf(stored, 'rowCount');
  const cellBytes = sumOf(stored, 'cellBytes');
  const preSample = sample && (await storeSample(resultStore, sample, prefix, signal));
  return { columns, rowCount, cellBytes, truncated, parts: stored, ...(preSample && { preSample }) };
}

function completionOf(execution: Execution, resultSet: ResultSet, endedAt: Instant, retentionDays: number): Completion {
  const startedAt = execution.startedAt ?? execution.submittedAt;
  return { startedAt, endedAt, expiresAt: expiryOf(endedAt, retentionDays), resultSet };
}

async function storeFilters(
  resultStore: ResultStore,
  { path, ...filters }: StagedBloomFilters,
  ofPart: string,
  signal: AbortSignal,
): Promise<BloomFilters> {
  const key = bloomFiltersKey(ofPart);
  await resultStore.put(key, path, signal);
  return { key, ...filters };
}

async function storeSample(
  resultStore: ResultStore,
  { path, bloomFilters: _none, ...part }: StagedPart,
  prefix: string,
  signal: AbortSignal,
): Promise<Part> {
  const key = preSampleKey(prefix);
  await resultStore.put(key, path, signal);
  return { key, ...part };
}

/**
 * After a failure: the run, if its commit went through after all; else what was put is deleted. A commit that failed may still stand
 * whole in the catalog's log and come back with a crash, until another commit has taken its place: so the lease is ended first, and
 * as long as that cannot be committed nothing is deleted. What stays, the sweep finds.
 */
async function settle(
  { catalog, store: objects }: WriteDependencies,
  resultSet: ResultSet | undefined,
  lease: KeptLease,
  giveUp: () => Promise<boolean>,
): Promise<Execution | undefined> {
  const id = executionOfWriter(lease.current);
  try {
    const isSpent = !(await giveUp());
    const found = await catalog.executions.findResultSet(id);
    const first = resultSet?.parts[0]?.key;
    // The names of objects have the lease's token in them. A result without rows has none, and is ours if its commit spent the lease.
    const isOurs = found !== undefined && found.parts[0]?.key === first && (isSpent || first !== undefined);
    if (isOurs) return await catalog.executions.find(id);
    const prefix = writerPrefix(lease.current);
    const keys = await Array.fromAsync(objects.list(prefix), ({ key }) => key);
    await objects.delete(keys.filter((key) => writerOfKey(key)?.prefix === prefix));
  } catch {
    // The failure that brought us here is the one to report.
  }
  return undefined;
}
