/** From the service's parts to the read path: the databases, queues, caches and limits that answering requests needs. */
import { availableParallelism } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { Catalog } from '../catalog/catalog.ts';
import { type DuckDb, duckDbVersion } from '../duckdb/duckdb.ts';
import { findPrincipal } from '../keys/find-principal.ts';
import { ReadLeases } from '../leases/read-leases.ts';
import type { Observe } from '../observation/observation.ts';
import type { LimitParts } from '../replicas/live-replicas.ts';
import { CatalogCache } from '../results/cache/catalog-cache.ts';
import { LruBytes } from '../results/cache/lru-bytes.ts';
import { MissingResults } from '../results/cache/missing-results.ts';
import { PagesAhead } from '../results/cache/pages-ahead.ts';
import { RememberedNames } from '../results/cache/remembered-names.ts';
import { SingleFlight } from '../results/cache/single-flight.ts';
import type { ResultsCaches, ResultsDeps } from '../results/deps.ts';
import type { StatisticsFiles } from '../results/derived/statistics-files.ts';
import { ConcurrencyLimiter, type ConcurrencyLimits } from '../results/limits/concurrency-limiter.ts';
import { WorkQueue } from '../results/limits/work-queue.ts';
import { byteLengthOf } from '../results/read/byte-chunks.ts';
import type { ReadDeps } from '../results/read/open-page.ts';
import { BUFFERED_BYTES_MAX } from '../results/read/open-slice.ts';
import { PartExclusion } from '../results/read/part-exclusion.ts';
import { unsentBytesMax } from '../settings/memory.ts';
import type { ResultStore } from '../store/result-store.ts';
import { CACHE_SHARES } from './cache-shares.ts';
import { openDerived } from './derived.ts';
import { commitInRoom } from './room-for-commits.ts';
import type { Service } from './service.ts';

/** Two ranges of an answer are read side by side. More would only delay its first bytes. */
const RANGES_AT_ONCE = 2;
const SEARCHES_AT_ONCE = 2;

export interface ReadPathEffects {
  readonly replicas: LimitParts;
  /** Of the service: `1.2.3`. */
  readonly version: string;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly newId: () => string;
  /** Names this process among those that share the catalog. */
  readonly owner: string;
  readonly observe: Observe;
}

export interface ReadPath {
  readonly results: ResultsDeps;
  readonly missing: MissingResults;
  /** By the names that metrics have for them. */
  readonly duckDbs: Readonly<Record<string, DuckDb>>;
  readonly queues: Readonly<Record<string, WorkQueue>>;
  /** What is kept of answers, and what was made from results, by the names that metrics have for them. */
  readonly kept: Readonly<Record<string, { readonly bytes: number }>>;
}

/** @param opened takes what has to be closed at the end */
export async function openReadPath(
  service: Service,
  effects: ReadPathEffects,
  opened: AsyncDisposableStack,
): Promise<ReadPath> {
  const { settings, clock, sleep, monotonic } = service;
  const [catalog, store] = [await service.catalog(), await service.store()];
  const missing: MissingResults = new MissingResults({
    executions: catalog.executions,
    store,
    onChange: (executionId, isMissing) => {
      catalogCache.forget();
      effects.observe({ kind: isMissing ? 'result_missing' : 'result_restored', executionId });
    },
  });
  const catalogCache = new CatalogCache(
    settings.pageCacheBytes * CACHE_SHARES.catalog,
    catalog,
    (key) => findPrincipal(catalog.principals, key),
    (executionId, resultSet) => missing.isMissing(executionId, resultSet),
    () => performance.nodeTiming.uvMetricsInfo.loopCount,
  );
  const readStore = missing.noticing(store);
  const [duckDbs, queues] = [await openDuckDbs(service), queuesOf(service)];
  const limiter = new ConcurrencyLimiter(heavyReadLimits(settings, effects.replicas), sleep);
  const derived = await openDerived(
    service,
    { ...effects, encoder: encoderOf(effects.version) },
    { store: readStore, duckDb: duckDbs.writer, queue: queues.heavy, limiter },
    opened,
  );
  const read: ReadDeps = {
    store: readStore,
    leases: await readLeasesOf(service, catalog, effects),
    scanner: duckDbs.scanner,
    rangeReader: duckDbs.rangeReader,
    pageTurns: queues.pages,
    assembling: queues.assembling,
    wideReads: queues.wide,
    searches: queues.searches,
    exports: queues.exports,
    rangesAtOnce: RANGES_AT_ONCE,
    views: derived.views,
    rowFiles: derived.rowFiles,
    indexes: derived.indexes,
    exclusion: exclusionOf(store, duckDbs.scanner, effects.observe),
    limiter,
    random: effects.random,
    monotonic,
    sleep,
    statementMillisMax: settings.readTimeoutMillis,
    room: service.room,
    directRowsMax: settings.directRowsMax,
  };
  const results: ResultsDeps = {
    clock,
    monotonic,
    catalogCache,
    ...runsOf(catalog),
    settings: resultsSettingsOf(service, effects.version),
    caches: cachesOf(settings.pageCacheBytes, opened),
    statistics: statisticsCachesOf(settings.pageCacheBytes, derived.statistics),
    read,
    parquet: derived.parquet,
  };
  return {
    results,
    missing,
    duckDbs: { pages: duckDbs.rangeReader, reads: duckDbs.scanner, heavy: duckDbs.writer },
    queues,
    kept: keptOf(results, derived),
  };
}

async function openDuckDbs({ rangeReader, scanner, writer }: Service) {
  const opened = await Promise.all([rangeReader(), scanner(), writer()]);
  return { rangeReader: opened[0], scanner: opened[1], writer: opened[2] };
}

function exclusionOf(store: ResultStore, duckDb: DuckDb, observe: Observe): PartExclusion {
  return new PartExclusion({
    store,
    duckDb,
    onUnreadable: (executionId, error) => observe({ kind: 'bloom_filters_unreadable', executionId, error }),
  });
}

/** What is told of runs that have not ended. */
function runsOf({ executions, runs }: Catalog): Pick<ResultsDeps, 'queuePosition' | 'runProgress'> {
  return {
    queuePosition: (execution) => executions.queuePosition(execution),
    runProgress: (executionId) => runs.findProgress(executionId),
  };
}

function keptOf(
  { caches: { pages, ahead } }: ResultsDeps,
  { rangesAhead, views, files, parquet }: Awaited<ReturnType<typeof openDerived>>,
): ReadPath['kept'] {
  const ofParquet = {
    get bytes() {
      return parquet.keptBytes;
    },
  };
  return { pages, ahead, ranges_ahead: rangesAhead, views, derived: files, parquet: ofParquet };
}

function queuesOf({ settings }: Service) {
  // Twice the cores, so that one page computes while another waits for the disk. More would only slow each other down.
  const pagesMax = 2 * availableParallelism();
  const pageTurns = new WorkQueue({ runningMax: pagesMax, waitingMax: settings.pagesWaitingMax });
  // As many pages as are read at a time, and no more than there is room for: each is in memory as a whole.
  const assembledMax = Math.max(2, Math.min(pagesMax, Math.floor(unsentBytesMax(settings) / BUFFERED_BYTES_MAX)));
  const assembling = new WorkQueue({ runningMax: assembledMax, waitingMax: settings.pagesWaitingMax });
  // A search takes all cores. Two at a time, so that one plans or reads while the other computes.
  const searches = new WorkQueue({ runningMax: SEARCHES_AT_ONCE, waitingMax: settings.pagesWaitingMax });
  // Every export that was admitted may wait: the limit is on how many are admitted.
  const exportsWaitingMax = settings.heavyReadsMax * RANGES_AT_ONCE;
  const exports = new WorkQueue({ runningMax: settings.exportsRunningMax, waitingMax: exportsWaitingMax }, pageTurns);
  const heavy = new WorkQueue({ runningMax: settings.heavyRunningMax, waitingMax: settings.heavyWaitingMax });
  const wide = new WorkQueue({ runningMax: 1, waitingMax: settings.pagesWaitingMax + exportsWaitingMax });
  return { pages: pageTurns, assembling, searches, exports, heavy, wide };
}

async function readLeasesOf(service: Service, catalog: Catalog, effects: ReadPathEffects): Promise<ReadLeases> {
  return new ReadLeases({
    catalog,
    clock: service.clock,
    owner: effects.owner,
    sleep: service.sleep,
    leaseMillis: service.settings.leaseMillis,
    newId: effects.newId,
    inRoom: await commitInRoom(service),
    onError: (error) => effects.observe({ kind: 'fault', error }),
  });
}

function cachesOf(bytes: number, opened: AsyncDisposableStack): ResultsCaches {
  return {
    pages: new LruBytes(bytes * CACHE_SHARES.pages, (page) => byteLengthOf(page.byteChunks)),
    asked: new RememberedNames(),
    segmentIndexes: new LruBytes(bytes * CACHE_SHARES.segmentIndexes, ({ marks }) => marks.length * 40),
    ahead: opened.use(new PagesAhead(bytes * CACHE_SHARES.ahead, ({ page }) => byteLengthOf(page.byteChunks))),
    opening: new SingleFlight(),
  };
}

/** The versions of everything that encodes values: another version may spell a value differently. */
function encoderOf(version: string): string {
  return `${version} ${duckDbVersion()}`;
}

function resultsSettingsOf({ settings }: Service, version: string): ResultsDeps['settings'] {
  return {
    datapointsMax: settings.datapointsMax,
    partialAsCompleted: settings.partialAsCompleted,
    encoder: encoderOf(version),
    expressions: expressionLimitsOf(settings),
  };
}

export function expressionLimitsOf(settings: Service['settings']): ResultsDeps['settings']['expressions'] {
  return {
    lengthMax: settings.filterLengthMax,
    termsMax: settings.filterTermsMax,
    depthMax: settings.filterDepthMax,
    inMembersMax: settings.filterInMax,
    sortKeysMax: settings.sortKeysMax,
  };
}

function statisticsCachesOf(bytesMax: number, files: StatisticsFiles): ResultsDeps['statistics'] {
  return {
    files,
    kept: new LruBytes(bytesMax * CACHE_SHARES.statistics, (text) => 2 * text.length),
    reading: new SingleFlight(),
  };
}

/** What one key may have in flight holds over all replicas: each applies its part. */
function heavyReadLimits(
  { heavyReadsMax, heavyReadsPerKeyMax, heavyReadsWaitMillis }: ConcurrencyLimits,
  replicas: LimitParts,
): ConcurrencyLimits {
  return {
    heavyReadsMax,
    heavyReadsWaitMillis,
    get heavyReadsPerKeyMax() {
      return replicas.wholePartOf(heavyReadsPerKeyMax);
    },
  };
}
