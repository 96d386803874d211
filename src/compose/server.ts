/** From the service's parts to the running HTTP server. */
import { availableParallelism } from 'node:os';
import type { Catalog } from '../catalog/catalog.ts';
import type { Dataset } from '../datasets/dataset.ts';
import { ticksOf } from '../datasets/dataset-age.ts';
import { registerDatasets } from '../datasets/register.ts';
import type { Clock } from '../domain/instant.ts';
import { duckDbVersion } from '../duckdb/duckdb.ts';
import { NotReady } from '../errors/not-ready.ts';
import { openFilesMax } from '../files/open-files-max.ts';
import { makeScratchFolder } from '../files/scratch-folder.ts';
import { AuthFailureLimiter } from '../http/auth-failure-limiter.ts';
import type { Authenticate } from '../http/authenticate.ts';
import { CompressedCache } from '../http/compressed-cache.ts';
import { InFlightRequests } from '../http/in-flight-requests.ts';
import { RateLimit } from '../http/rate-limit.ts';
import { Readiness } from '../http/readiness.ts';
import { makeResponseCache } from '../http/response-cache.ts';
import type { DatasetRoute } from '../http/results-routes.ts';
import { type HttpOptions, type RunningServer, startServer } from '../http/server.ts';
import { findPrincipal } from '../keys/find-principal.ts';
import { hashKey } from '../keys/key-hash.ts';
import { ReadLeases } from '../leases/read-leases.ts';
import { requireStillJoined } from '../maintenance/installation.ts';
import { fanOut, type Observe } from '../observation/observation.ts';
import { CatalogCache } from '../results/cache/catalog-cache.ts';
import { LruBytes } from '../results/cache/lru-bytes.ts';
import { MissingResults } from '../results/cache/missing-results.ts';
import { SingleFlight } from '../results/cache/single-flight.ts';
import type { ResultsCaches, ResultsDeps } from '../results/deps.ts';
import { ViewCache } from '../results/derived/views/view-cache.ts';
import { ConcurrencyLimiter } from '../results/limits/concurrency-limiter.ts';
import { WorkQueue } from '../results/limits/work-queue.ts';
import { byteLengthOf } from '../results/read/byte-chunks.ts';
import type { ReadDeps } from '../results/read/open-page.ts';
import { ParquetExports } from '../results/read/parquet-exports.ts';
import type { ResultStore } from '../store/result-store.ts';
import { once } from './once.ts';
import type { Service } from './service.ts';
import { startTelemetry, type TelemetryEffects } from './telemetry.ts';

export interface ServerEffects extends TelemetryEffects {
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  readonly newId: () => string;
  /** Names this process among those that share the catalog. */
  readonly owner: string;
  readonly observe: Observe;
  /** The log on its way out. */
  readonly logLines: { readonly dropped: number };
}

/** How the memory for finished answers is divided: the answers, their compressed forms, whole responses, what recent
 * addresses meant (a kilobyte each), the segment indexes of streamed answers (40 bytes for each 32,768 rows). */
const CACHE_SHARES = { pages: 0.57, compressed: 0.29, answers: 0.07, addresses: 0.035, segmentIndexes: 0.035 } as const;
/** Two ranges of an answer are read side by side: more would only make it wait for its first bytes. */
const RANGES_AT_ONCE = 2;
const SEARCHES_AT_ONCE = 2;
/** An answer that was cut has ended as soon as its connection says so. */
const CUT_MILLIS_MAX = 5000;

/** Disposed of, it stops, and then gives back all that it took. */
export interface Server extends AsyncDisposable {
  readonly url: string;
  /** Tells everybody who listens: the log, the metrics, … */
  readonly observe: Observe;
  /** Takes no more requests; resolves when the last answer is out, or has been cut at the end of the grace period. */
  stop(): Promise<void>;
}

/** Listens until it is stopped. @throws when the address cannot be had */
export async function serve(service: Service, effects: ServerEffects): Promise<Server> {
  const { settings, clock, directories } = service;
  const { monotonic } = effects;
  const observers = [effects.observe];
  const observe = fanOut(observers);
  await using opened = new AsyncDisposableStack();
  const catalog = await service.catalog();
  const { datasets, refusals } = await registerDatasets(catalog, await service.datasets(), clock());
  for (const refusal of refusals) observe({ kind: 'dataset_refused', refusal });
  const store = await service.store();
  const missing: MissingResults = new MissingResults({
    executions: catalog.executions,
    store,
    onChange: (executionId, isMissing) => {
      catalogCache.forget();
      observe({ kind: isMissing ? 'result_missing' : 'result_restored', executionId });
    },
  });
  const catalogCache = new CatalogCache(
    catalog,
    (key) => findPrincipal(catalog.principals, key),
    (executionId, resultSet) => missing.isMissing(executionId, resultSet),
  );
  const readStore = missing.noticing(store);
  const duckDb = await service.reads();
  const pageDuckDb = await service.pages();
  const heavy = await service.heavy();
  const folder = opened.use(await makeScratchFolder(directories.views));
  const queue = new WorkQueue({ runningMax: settings.heavyRunningMax, waitingMax: settings.heavyWaitingMax });
  const views = new ViewCache({
    directory: folder.path,
    bytesMax: settings.viewBytesMax,
    viewsMax: settings.viewsMax,
    store: readStore,
    duckDb: heavy,
    queue,
    millisMax: settings.viewTimeoutMillis,
  });
  const parquetFolder = opened.use(await makeScratchFolder(directories.views));
  const parquet = new ParquetExports({
    directory: parquetFolder.path,
    bytesMax: settings.parquetBytesMax,
    duckDb: heavy,
    queue,
    views,
    millisMax: settings.viewTimeoutMillis,
  });
  const leases = new ReadLeases({
    catalog,
    clock,
    owner: effects.owner,
    sleep: effects.sleep,
    leaseMillis: settings.leaseMillis,
    newId: effects.newId,
    onError: (error) => observe({ kind: 'fault', error }),
  });
  // Twice the cores: while one waits for the disk another computes; more would only slow each other down.
  const pageTurns = new WorkQueue({ runningMax: 2 * availableParallelism(), waitingMax: settings.pagesWaitingMax });
  // Each takes all cores: so many at a time that one plans or reads while another computes.
  const searches = new WorkQueue({ runningMax: SEARCHES_AT_ONCE, waitingMax: settings.pagesWaitingMax });
  // Whoever was let in waits for its turn; how many are let in is the bound.
  const exportsWaitingMax = settings.heavyReadsMax * RANGES_AT_ONCE;
  const exports = new WorkQueue({ runningMax: settings.exportsRunningMax, waitingMax: exportsWaitingMax }, pageTurns);
  const cacheBytes = settings.pageCacheBytes;
  const caches: ResultsCaches = {
    pages: new LruBytes(cacheBytes * CACHE_SHARES.pages, (page) => byteLengthOf(page.byteChunks)),
    addresses: new LruBytes(cacheBytes * CACHE_SHARES.addresses, () => 0),
    segmentIndexes: new LruBytes(
      cacheBytes * CACHE_SHARES.segmentIndexes,
      ({ segmentBytes }) => segmentBytes.length * 40,
    ),
    opening: new SingleFlight(),
  };
  const read: ReadDeps = {
    store: readStore,
    duckDb,
    pageDuckDb,
    pageTurns,
    searches,
    exports,
    rangesAtOnce: RANGES_AT_ONCE,
    views,
    limiter: new ConcurrencyLimiter(settings),
    random: effects.random,
    monotonic,
    sleep: effects.sleep,
    statementMillisMax: settings.readTimeoutMillis,
    directRowsMax: settings.directRowsMax,
  };
  const results: ResultsDeps = {
    clock,
    monotonic,
    catalogCache,
    queuePosition: (execution) => catalog.executions.queuePosition(execution),
    settings: {
      datapointsMax: settings.datapointsMax,
      partialAsCompleted: settings.partialAsCompleted,
      encoder: `${effects.version} ${duckDbVersion()}`,
      expressions: {
        lengthMax: settings.filterLengthMax,
        termsMax: settings.filterTermsMax,
        depthMax: settings.filterDepthMax,
        inMembersMax: settings.filterInMax,
        sortKeysMax: settings.sortKeysMax,
      },
    },
    caches,
    read,
    parquet,
    leases,
  };
  const compressed = new CompressedCache(settings.pageCacheBytes * CACHE_SHARES.compressed);
  const responseCache = makeResponseCache(settings.pageCacheBytes * CACHE_SHARES.answers);
  const options: HttpOptions = {
    host: settings.host,
    port: settings.port,
    publicUrl: settings.publicUrl,
    keyHeaders: ['X-Service-Api-Key', ...settings.keyHeaders],
    headerPrefixes: ['X-Service', ...settings.compatHeaderPrefixes],
    datasets: datasets.map((dataset) => datasetRoute(dataset, clock)),
    connections: {
      // Half of them for connections: whoever is let in must be able to be answered from files.
      connectionsMax: Math.min(settings.connectionsMax, Math.floor(openFilesMax() / 2)),
      headerBytesMax: settings.headerBytesMax,
      headersMillis: settings.headersTimeoutMillis,
      idleMillis: settings.idleTimeoutMillis,
      stalledMillis: settings.stalledTimeoutMillis,
    },
    trustProxy: settings.trustProxy,
    corsOrigins: settings.corsOrigins,
    documentation: { version: effects.version, datasets },
    compressed,
    responseCache,
  };
  const inFlight = new InFlightRequests();
  const { metrics } = opened.use(
    await startTelemetry(
      observers,
      service,
      {
        catalog,
        datasets,
        duckDbs: { pages: pageDuckDb, reads: duckDb, heavy },
        queues: { pages: pageTurns, searches, exports, heavy: queue },
        caches: { pages: caches.pages, compressed, answers: responseCache, views },
        parquet,
        heavyReads: read.limiter,
        requests: inFlight,
        logLines: effects.logLines,
        clock,
        monotonic,
      },
      effects,
    ),
  );
  const server: RunningServer = await startServer(
    {
      results,
      health: {
        readiness: readinessOf({ catalog, store, missing }, observe, effects),
        missingResults: () => missing.count,
      },
      authenticate: authenticator(results.catalogCache, settings.failedKeysPerMinute, monotonic),
      onFault: (fault) => observe({ kind: 'fault', ...fault }),
      context: { inFlight, observe, clock, monotonic, rateLimit: rateLimitOf(service, monotonic) },
      metrics,
      usage: { usage: catalog.usage, clock },
    },
    options,
  );
  observe({ kind: 'listening', url: server.url });
  const closing = opened.move();
  const stop = once(async () => {
    observe({ kind: 'stopping', inFlight: inFlight.count });
    inFlight.stopAccepting();
    const cut = await inFlight.drained(settings.shutdownGraceMillis, effects.sleep);
    await server.close();
    // What was cut is accounted for, too, before the accounts are closed.
    await inFlight.drained(CUT_MILLIS_MAX, effects.sleep);
    observe({ kind: 'stopped', cut });
  });
  return {
    url: server.url,
    observe,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
      await closing.disposeAsync();
    },
  };
}

function readinessOf(
  {
    catalog,
    store,
    missing,
  }: { readonly catalog: Catalog; readonly store: ResultStore; readonly missing: MissingResults },
  observe: Observe,
  effects: ServerEffects,
): Readiness {
  return new Readiness({
    checks: {
      catalog: () => catalog.check(),
      store: async () => {
        await store.check();
        await requireStillJoined({ catalog, store }).catch((error: unknown) => {
          throw new NotReady('it is not the one that belongs to the catalog', { cause: error });
        });
        await missing.lookAgain();
      },
    },
    monotonic: effects.monotonic,
    sleep: effects.sleep,
    onFailed: (name, error) => observe({ kind: 'fault', what: `not ready: the ${name}`, error }),
  });
}

/** Looks a key up, and counts the wrong ones of each address. */
function authenticator(catalogCache: CatalogCache, perMinute: number, monotonic: () => number): Authenticate {
  const authFailures = new AuthFailureLimiter({ perMinute, monotonic });
  return async (key, address) => {
    const principal = await catalogCache.principal(key, hashKey(key));
    if (principal === undefined) authFailures.count(address());
    return principal;
  };
}

function rateLimitOf({ settings }: Service, monotonic: () => number): RateLimit | undefined {
  const { rateLimit, rateBurst } = settings;
  return rateLimit === 'off' ? undefined : new RateLimit({ perSecond: rateLimit, burst: rateBurst, monotonic });
}

function datasetRoute(dataset: Dataset, clock: Clock): DatasetRoute {
  const { last, next } = ticksOf(dataset, clock);
  const { path, queryId } = dataset;
  return { path: path.replace(/^\/v1/, ''), queryId, nextRefresh: next, lastRefresh: last };
}
