/**
 * Publishing: a file, a stream or rows become the result of an execution.
 *
 *   source → columns and rows → Parquet parts (cut at the limit) → objects put → catalog commit
 *
 * The commit is what makes the result exist. Until then everything lies in folders of this writer's own, under its lease; a
 * publish that fails removes them, and what a killed one leaves is swept (sweep.ts).
 */
import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Catalog, type Completion, type Executions, IllegalTransition, type Queries } from '../catalog/catalog.ts';
import { type Execution, STATES } from '../domain/execution.ts';
import type { Clock, Instant } from '../domain/instant.ts';
import { type Part, type ResultSet, ROW_GROUP_ROWS, ROW_GROUPS_PER_PART } from '../domain/result-set.ts';
import { expiryOf } from '../domain/retention.ts';
import type { Sleep } from '../domain/time.ts';
import {
  executionOfWriter,
  partKey,
  preSampleKey,
  stagingName,
  writerOfKey,
  writerPrefix,
} from '../domain/written-names.ts';
import { DuckDb, isOutOfMemory } from '../duckdb/duckdb.ts';
import { escapeGlob } from '../duckdb/escape-glob.ts';
import type { WarmDuckDbs } from '../duckdb/warm-duckdb.ts';
import { isStorageFull } from '../errors/storage-full.ts';
import type { KeptLease } from '../leases/kept-lease.ts';
import { acquireWriteLease } from '../leases/write-lease.ts';
import type { ResultStore } from '../store/result-store.ts';
import { PublishError } from './publish-error.ts';
import { type InputRequest, localInput, readInput } from './sources/read-input.ts';
import { type StagedWrites, UNLIMITED_STAGING } from './staging-budget.ts';
import { type Converted, convert, type RowsDone } from './write/convert.ts';
import type { PartLayout, StagedPart } from './write/part-writer.ts';
import { PRE_SAMPLE_ROWS } from './write/pre-sample.ts';

export interface PublishDependencies {
  readonly catalog: Pick<Catalog, 'leases'> & {
    readonly executions: Pick<Executions, 'find' | 'findResultSet' | 'addCompleted' | 'complete'>;
    readonly queries: Pick<Queries, 'find'>;
  };
  readonly store: ResultStore;
  /** Absolute; on the same filesystem as a local store, so that parts are moved and not copied. */
  readonly stagingDirectory: string;
  /** Memory and spill space of the DuckDB that does the work, as DuckDB writes sizes. */
  readonly memoryLimit: string;
  readonly tempSizeMax: string;
  readonly clock: Clock;
  readonly sleep: Sleep;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** A new execution id: a ULID. */
  readonly newId: () => string;
  /** Of one thread each, and able to reach the staging directory; one is opened for each result when left out. */
  readonly duckDbs?: Pick<WarmDuckDbs, 'use'>;
  /** A place among those that convert at the same time, each with the memory above; at once when left out. */
  readonly takeTurn?: (signal: AbortSignal) => Promise<Disposable>;
  /** Told of all that is staged, before it is written or soon after; what it throws ends the publish. No limit when left out. */
  readonly staged?: StagedWrites;
  /** This process, as `currentLeaseOwner` names it. */
  readonly owner: string;
}

export interface PublishRequest extends InputRequest {
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

export interface PublishOptions extends PartLayout {
  readonly retentionDays: number;
  readonly leaseMillis: number;
}

/** Of a source in UTF-8. */
const SMALL_BYTES_MAX = 64 * 1024;

export const PART_LAYOUT = {
  rowGroupRows: ROW_GROUP_ROWS,
  rowGroupsPerPart: ROW_GROUPS_PER_PART,
  preSampleRows: PRE_SAMPLE_ROWS,
} as const;

export type Progress =
  /** The input is copied to local disk, where it can be read only once; so many bytes so far. */
  | { readonly phase: 'reading'; readonly bytes: number }
  /** So many rows are finished, of so many where that is known, and so many cell bytes. */
  | {
      readonly phase: 'converting';
      readonly rows: number;
      readonly rowsTotal: number | undefined;
      readonly bytes: number;
    }
  | { readonly phase: 'storing'; readonly parts: number; readonly partsTotal: number };

/**
 * @returns the completed execution
 * @throws PublishError when the input is not what it should be; IllegalTransition when the run cannot be completed; LeaseLost
 *   when another process took over; the signal's reason once it is aborted. Nothing has changed then.
 */
export async function publish(
  dependencies: PublishDependencies,
  request: PublishRequest,
  options: PublishOptions,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void = () => undefined,
): Promise<Execution> {
  const { catalog } = dependencies;
  const execution = await executionToComplete(dependencies, request, dependencies.clock());
  const { held } = request;
  const lease = held?.lease ?? (await acquireWriteLease(execution.id, { ...dependencies, ...options }));
  if (lease === undefined) {
    throw new PublishError(`execution ${execution.id} is being published by another process`, { kind: 'busy' });
  }
  const staging = join(dependencies.stagingDirectory, stagingName(lease.current));
  const working = AbortSignal.any([signal, lease.signal]);
  let resultSet: ResultSet | undefined;
  try {
    const work = { request, layout: options, staging, onProgress };
    const staged = await stage(dependencies, work, working);
    resultSet = await store(dependencies.store, staged, writerPrefix(lease.current), working, onProgress);
    working.throwIfAborted();
    const completion = completionOf(execution, resultSet, dependencies.clock(), options.retentionDays);
    return request.executionId === undefined
      ? await catalog.executions.addCompleted(execution, completion, lease.current)
      : await catalog.executions.complete(execution.id, completion, lease.current);
  } catch (error) {
    const giveUp = async () => await (held === undefined ? lease.end() : held.giveUp(error));
    const committed = await settle(dependencies, resultSet, lease, giveUp);
    if (committed !== undefined) return committed;
    if (!isStorageFull(error)) throw error;
    throw new PublishError(
      'nothing was published, since a disk of the service is full: free some space (`qrs sweep` deletes what has expired)',
      { cause: error, kind: 'full' },
    );
  } finally {
    // What stays is swept, and is no reason to call a publish failed that was committed.
    await rm(staging, { recursive: true, force: true }).catch(() => undefined);
    await lease[Symbol.asyncDispose]();
  }
}

async function executionToComplete(
  { catalog, newId }: PublishDependencies,
  { queryId, executionId, parameters }: PublishRequest,
  now: Instant,
): Promise<Execution> {
  const query = await catalog.queries.find(queryId);
  if (query === undefined) throw new PublishError(`there is no query ${queryId}: add it first`);
  if (executionId === undefined) {
    if (query.isArchived) throw new PublishError(`query ${queryId} is archived, so it is not run: unarchive it first`);
    return { id: newId(), queryId, parameters: parameters ?? {}, state: 'PENDING', submittedAt: now, startedAt: now };
  }
  const execution = await catalog.executions.find(executionId);
  if (execution === undefined || STATES[execution.state].terminal) {
    throw new IllegalTransition(executionId, execution?.state, 'COMPLETED');
  }
  if (execution.queryId !== queryId) {
    throw new PublishError(`execution ${executionId} is a run of query ${execution.queryId}, not of query ${queryId}`);
  }
  return execution;
}

interface Staging {
  readonly request: PublishRequest;
  readonly layout: PartLayout;
  /** The folder of this writer alone. */
  readonly staging: string;
  readonly onProgress: (progress: Progress) => void;
}

async function stage(
  dependencies: PublishDependencies,
  { request, layout, staging, onProgress }: Staging,
  signal: AbortSignal,
): Promise<Converted> {
  await mkdir(staging, { recursive: true });
  onProgress({ phase: 'reading', bytes: 0 });
  const onRead = (bytes: number) => onProgress({ phase: 'reading', bytes });
  const { staged = UNLIMITED_STAGING } = dependencies;
  const copies = { folder: staging, staged, onRead };
  const input = await localInput(request, copies, signal);
  using _ = await dependencies.takeTurn?.(signal);
  const { path, kind, types } = await readInput(request, input, copies, signal);
  const isSmall = (await stat(path)).size <= SMALL_BYTES_MAX;
  const context = {
    ...{ path: escapeGlob(path), file: path, types, scratch: staging, delimiter: request.delimiter },
    ...{ staged, isSmall },
  };
  const conversion = {
    kind,
    folder: join(staging, 'parts'),
    layout,
    random: dependencies.random,
    sleep: dependencies.sleep,
    onRows: (done: RowsDone) => onProgress({ phase: 'converting', ...done }),
  };
  try {
    return await useDuckDb(dependencies, { staging, path }, (duckDb) =>
      convert({ ...conversion, context: { ...context, duckDb } }, signal),
    );
  } catch (error) {
    if (!isOutOfMemory(error)) throw error;
    throw new PublishError('the rows are too wide for the memory that publishing may use: raise QRS_PUBLISH_MEMORY');
  }
}

async function useDuckDb<T>(
  dependencies: PublishDependencies,
  { staging, path }: { readonly staging: string; readonly path: string },
  work: (duckDb: DuckDb) => Promise<T>,
): Promise<T> {
  if (dependencies.duckDbs !== undefined) return await dependencies.duckDbs.use(work);
  await using duckDb = await DuckDb.open({
    threads: 1,
    memoryLimit: dependencies.memoryLimit,
    tempDirectory: join(staging, 'spill'),
    tempSizeMax: dependencies.tempSizeMax,
    sleep: dependencies.sleep,
    allowedDirectories: [staging, dirname(path)],
  });
  return await work(duckDb);
}

async function store(
  resultStore: ResultStore,
  { columns, parts, truncated, sample }: Converted,
  prefix: string,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<ResultSet> {
  const stored: ResultSet['parts'][number][] = [];
  for (const { path, ...part } of parts) {
    onProgress({ phase: 'storing', parts: stored.length, partsTotal: parts.length });
    const key = partKey(prefix, stored.length);
    await resultStore.put(key, path, signal);
    stored.push({ key, ...part });
  }
  const rowCount = stored.reduce((sum, part) => sum + part.rowCount, 0);
  const cellBytes = stored.reduce((sum, part) => sum + part.cellBytes, 0);
  const preSample = sample && (await storeSample(resultStore, sample, prefix, signal));
  return { columns, rowCount, cellBytes, truncated, parts: stored, ...(preSample && { preSample }) };
}

function completionOf(execution: Execution, resultSet: ResultSet, endedAt: Instant, retentionDays: number): Completion {
  const startedAt = execution.startedAt ?? execution.submittedAt;
  return { startedAt, endedAt, expiresAt: expiryOf(endedAt, retentionDays), resultSet };
}

async function storeSample(
  resultStore: ResultStore,
  { path, ...part }: StagedPart,
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
  { catalog, store: objects }: PublishDependencies,
  resultSet: ResultSet | undefined,
  lease: KeptLease,
  giveUp: () => Promise<boolean>,
): Promise<Execution | undefined> {
  const id = executionOfWriter(lease.current);
  try {
    const isSpent = !(await giveUp());
    const found = await catalog.executions.findResultSet(id);
    const isOurs = isSpent && found !== undefined && found.parts[0]?.key === resultSet?.parts[0]?.key;
    if (isOurs) return await catalog.executions.find(id);
    const prefix = writerPrefix(lease.current);
    const keys = await Array.fromAsync(objects.list(prefix), ({ key }) => key);
    await objects.delete(keys.filter((key) => writerOfKey(key)?.prefix === prefix));
  } catch {
    // The failure that brought us here is the one to report.
  }
  return undefined;
}
