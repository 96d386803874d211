/**
 * From the service's parts to everything on disk that is made from results on demand: views, row files, indexes, Parquet
 * answers.
 */
import { extname, join } from 'node:path';
import type { Sleep } from '../domain/time.ts';
import type { DuckDb } from '../duckdb/duckdb.ts';
import { openFilesMax } from '../files/open-files-max.ts';
import type { Observe } from '../observation/observation.ts';
import { DerivedBudget } from '../results/derived/budget.ts';
import { DerivedFiles } from '../results/derived/derived-files.ts';
import { ResultIndexes } from '../results/derived/indexes/result-indexes.ts';
import { BuilderProcess } from '../results/derived/row-files/builder-process.ts';
import { RangesAhead } from '../results/derived/row-files/ranges-ahead.ts';
import { RowFiles } from '../results/derived/row-files/row-files.ts';
import { StatisticsFiles } from '../results/derived/statistics-files.ts';
import { ViewCache } from '../results/derived/views/view-cache.ts';
import type { ConcurrencyLimiter } from '../results/limits/concurrency-limiter.ts';
import type { WorkQueue } from '../results/limits/work-queue.ts';
import { ParquetExports } from '../results/read/parquet-exports.ts';
import { ParquetFiles } from '../results/read/parquet-files.ts';
import type { ResultStore } from '../store/result-store.ts';
import { CACHE_SHARES } from './cache-shares.ts';
import { makeOwnScratch } from './own-scratch.ts';
import type { Service } from './service.ts';
import { tempBytesOfEach } from './spilling.ts';

/** A few row groups, of which a range is read, and little else. */
const BUILDER_MEMORY = '192MB';
const BUILDER_FLAGS = ['--max-semi-space-size=4', '--disable-warning=ExperimentalWarning'];

/** Of row files, and of indexes. */
const OPEN_FILES_MAX = 256;
/** Half of the files that the process may open are for connections, and reads need most of the others. */
const OPEN_FILES_SHARE = 1 / 16;

/** What derived files are made with. */
export interface DerivedSources {
  readonly store: Pick<ResultStore, 'open'>;
  /** Writes. */
  readonly duckDb: DuckDb;
  /** Of heavy work. */
  readonly queue: WorkQueue;
  /** Counts the long reads that are under way. */
  readonly limiter: Pick<ConcurrencyLimiter, 'running'>;
}

export interface DerivedEffects {
  /** The versions of everything that encodes values. */
  readonly encoder: string;
  readonly observe: Observe;
}

/** @param opened takes what has to be closed at the end */
export async function openDerived(
  service: Service,
  effects: DerivedEffects,
  { store, duckDb, queue, limiter }: DerivedSources,
  opened: AsyncDisposableStack,
) {
  const { settings, directories, clock } = service;
  const budget = new DerivedBudget(settings.viewBytesMax, service.room);
  const staging = opened.use(await makeOwnScratch(directories.derived));
  const files = new DerivedFiles({ directory: directories.derived, staging: staging.path, budget, clock });
  const folder = opened.use(await makeOwnScratch(directories.views));
  const parquetFolder = opened.use(await makeOwnScratch(directories.views));
  const isBusy = () => limiter.running > 0;
  const made = {
    store,
    files,
    builder: await openBuilder(service, opened),
    isBusy,
    openFilesMax: Math.min(OPEN_FILES_MAX, Math.floor(openFilesMax() * OPEN_FILES_SHARE)),
  };
  const rangesAhead = opened.use(
    new RangesAhead(settings.pageCacheBytes * CACHE_SHARES.rangesAhead, service.monotonic, {
      // Half of what a page has, which leaves it the other half.
      millis: settings.readTimeoutMillis / 2,
      sleep: service.sleep,
    }),
  );
  const rowFiles = openRowFiles(service, effects, { ...made, rangesAhead }, opened);
  const indexes = openIndexes(service, effects, made, opened);
  const views = opened.use(
    new ViewCache({
      directory: folder.path,
      budget,
      clock,
      viewsMax: settings.viewsMax,
      store,
      duckDb,
      queue,
      millisMax: settings.viewTimeoutMillis,
      sleep: service.sleep,
      onRemoved: (directory) => rowFiles.forgetBelow(directory),
    }),
  );
  const writing = { duckDb, queue, room: service.room, millisMax: settings.viewTimeoutMillis, sleep: service.sleep };
  const parquet = new ParquetFiles({
    directory: parquetFolder.path,
    writer: new ParquetExports(writing),
    bytesMax: settings.parquetBytesMax,
    filesMax: settings.viewsMax,
    budget,
    clock,
  });
  watch(budget, service.sleep, opened);
  return {
    views,
    rangesAhead,
    rowFiles,
    indexes,
    files,
    parquet,
    statistics: new StatisticsFiles(files, effects.encoder),
  };
}

function watch(budget: DerivedBudget, sleep: Sleep, opened: AsyncDisposableStack): void {
  const stop = new AbortController();
  const watching = budget.watch(sleep, stop.signal);
  opened.defer(async () => {
    stop.abort(new Error('the service stops'));
    await watching;
  });
}

interface BuiltBeside {
  readonly store: Pick<ResultStore, 'open'>;
  readonly files: DerivedFiles;
  readonly builder: BuilderProcess;
  readonly isBusy: () => boolean;
  readonly openFilesMax: number;
}

async function openBuilder(
  { settings, directories, sleep }: Service,
  opened: AsyncDisposableStack,
): Promise<BuilderProcess> {
  const temp = opened.use(await makeOwnScratch(directories.temp));
  return opened.use(
    new BuilderProcess({
      program: join(import.meta.dirname, '..', `row-file-builder${extname(import.meta.filename)}`),
      flags: BUILDER_FLAGS,
      sleep,
      duckDb: {
        threads: 1,
        memoryLimit: BUILDER_MEMORY,
        tempDirectory: temp.path,
        tempSizeMax: `${tempBytesOfEach(settings)}B`,
        allowedDirectories: [directories.results, directories.views, temp.path],
      },
    }),
  );
}

function openRowFiles(
  { settings, clock, sleep, monotonic }: Service,
  { encoder, observe }: DerivedEffects,
  { rangesAhead, ...beside }: BuiltBeside & { readonly rangesAhead: RangesAhead },
  opened: AsyncDisposableStack,
): RowFiles {
  return opened.use(
    new RowFiles({
      ...beside,
      encoder,
      rangesAhead,
      rowsMin: settings.rowFiles === 'off' ? undefined : settings.rowFiles,
      bytesMax: settings.viewBytesMax,
      clock,
      monotonic,
      sleep,
      onBuilt: (built) => observe({ kind: 'row_files_built', ...built }),
      rest: () => beside.builder.rest(),
      onFailed: (executionId, error) => observe({ kind: 'row_files_failed', executionId, error }),
      onRefused: (executionId, { message }) => observe({ kind: 'row_files_refused', executionId, why: message }),
      onDamaged: (executionId, error) => observe({ kind: 'row_file_damaged', executionId, error }),
    }),
  );
}

function openIndexes(
  { settings, clock, sleep, monotonic }: Service,
  { observe }: DerivedEffects,
  beside: BuiltBeside,
  opened: AsyncDisposableStack,
): ResultIndexes {
  return opened.use(
    new ResultIndexes({
      ...beside,
      uses: settings.indexUses === 'off' ? undefined : settings.indexUses,
      rowsMin: settings.indexRowsMin,
      bytesMax: settings.viewBytesMax,
      clock,
      monotonic,
      sleep,
      rest: () => beside.builder.rest(),
      onBuilt: ({ executionId, bytes, millis }, { column }) =>
        observe({ kind: 'index_built', executionId, column, bytes, millis }),
      onFailed: (executionId, error) => observe({ kind: 'index_failed', executionId, error }),
      onRefused: (executionId, { message }) => observe({ kind: 'index_refused', executionId, why: message }),
      onDamaged: (executionId, error) => observe({ kind: 'index_damaged', executionId, error }),
    }),
  );
}
