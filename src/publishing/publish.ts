/**
 * Publishing: a file, a stream or rows become the result of an execution.
 *
 *   source → columns and rows → Parquet parts (cut at the limit) → objects put → catalog commit
 *
 * Here rows become parts; what follows is in publish-staged.ts.
 */
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ColumnType } from '../domain/column-type.ts';
import type { Execution } from '../domain/execution.ts';
import { type Column, ROW_GROUP_ROWS, ROW_GROUPS_PER_PART } from '../domain/result-set.ts';
import { DuckDb, isOutOfMemory } from '../duckdb/duckdb.ts';
import { escapeGlob } from '../duckdb/escape-glob.ts';
import type { WarmDuckDbs } from '../duckdb/warm-duckdb.ts';
import { DiskRoom, withRoom } from '../files/disk-room.ts';
import { makeWorkspace } from '../files/workspace.ts';
import { PublishError } from './publish-error.ts';
import { publishStaged, type WriteDependencies, type WriteOptions, type WriteRequest } from './publish-staged.ts';
import { type InputRequest, localInput, readInput } from './sources/read-input.ts';
import { type StagedWrites, UNLIMITED_STAGING } from './staging-budget.ts';
import { BLOOM_BYTES_MIN } from './write/bloom-filters.ts';
import { type Converted, convert, type RowsDone } from './write/convert.ts';
import type { PartLayout } from './write/part-writer.ts';
import { PRE_SAMPLE_ROWS } from './write/pre-sample.ts';

export interface PublishDependencies extends WriteDependencies {
  /** Memory and spill space of the DuckDB that does the work, as DuckDB writes sizes. */
  readonly memoryLimit: string;
  readonly tempSizeMax: string;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Of one thread each, and able to reach the staging directory; one is opened for each result when left out. */
  readonly duckDbs?: Pick<WarmDuckDbs, 'use'>;
  /** Types of the query's columns, by name, for those whose types the request does not declare. None when left out. */
  readonly defaultTypes?: (queryId: number) => Promise<ReadonlyMap<string, ColumnType>>;
  /** Throws a PublishError for columns that the query's results must not have; nothing is stored then. Any when left out. */
  readonly checkColumns?: (queryId: number, columns: readonly Column[]) => Promise<void>;
  /** A place among those that convert at the same time, each with the memory above; at once when left out. */
  readonly takeTurn?: (signal: AbortSignal) => Promise<Disposable>;
  /** Told of all that is staged, before it is written or soon after; what it throws ends the publish. No limit when left out. */
  readonly staged?: StagedWrites;
  /** What can be had again, on the disk of the staging directory: it makes room for the rows where that is full. */
  readonly room?: DiskRoom;
}

export interface PublishRequest extends InputRequest, WriteRequest {}

export interface PublishOptions extends PartLayout, WriteOptions {}

/** Of a source in UTF-8. */
const SMALL_BYTES_MAX = 64 * 1024;

export const PART_LAYOUT = {
  rowGroupRows: ROW_GROUP_ROWS,
  rowGroupsPerPart: ROW_GROUPS_PER_PART,
  preSampleRows: PRE_SAMPLE_ROWS,
  bloomBytesMin: BLOOM_BYTES_MIN,
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
 *   when another process took over; WorkspaceUnavailable; the signal's reason once it is aborted. Nothing has changed then.
 */
export async function publish(
  dependencies: PublishDependencies,
  request: PublishRequest,
  options: PublishOptions,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void = () => undefined,
): Promise<Execution> {
  const stageRows = async (staging: string, working: AbortSignal) => {
    const staged = await stage(dependencies, { request, layout: options, staging, onProgress }, working);
    await dependencies.checkColumns?.(request.queryId, staged.columns);
    return staged;
  };
  const onStored = (parts: number, partsTotal: number) => onProgress({ phase: 'storing', parts, partsTotal });
  return await publishStaged(dependencies, request, options, { stage: stageRows, onStored }, signal);
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
  await makeWorkspace(staging);
  onProgress({ phase: 'reading', bytes: 0 });
  const onRead = (bytes: number) => onProgress({ phase: 'reading', bytes });
  const { staged = UNLIMITED_STAGING, room = new DiskRoom() } = dependencies;
  const copies = { folder: staging, staged, room, onRead };
  const declared: ReadonlyMap<string, ColumnType> = request.types ?? new Map();
  const defaults = (await dependencies.defaultTypes?.(request.queryId)) ?? new Map();
  const typed = { ...request, types: new Map([...defaults, ...declared]) };
  const input = await localInput(typed, copies, signal);
  using _ = await dependencies.takeTurn?.(signal);
  const { path, kind, types } = await readInput(typed, input, copies, signal);
  const isSmall = (await stat(path)).size <= SMALL_BYTES_MAX;
  const context = {
    ...{ path: escapeGlob(path), file: path, types, scratch: staging, delimiter: request.delimiter },
    ...{ staged, isSmall },
  };
  const conversion = {
    kind,
    declared: [...declared.keys()],
    folder: join(staging, 'parts'),
    layout,
    random: dependencies.random,
    sleep: dependencies.sleep,
    onRows: (done: RowsDone) => onProgress({ phase: 'converting', ...done }),
  };
  try {
    return await useDuckDb(dependencies, { staging, path }, (duckDb) =>
      withRoom(room, () => convert({ ...conversion, context: { ...context, duckDb } }, signal)),
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
    tempDirectory: staging,
    tempSizeMax: dependencies.tempSizeMax,
    sleep: dependencies.sleep,
    allowedDirectories: [staging, dirname(path)],
  });
  return await work(duckDb);
}
