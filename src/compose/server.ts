/** From the service's parts to the running HTTP server. */
import type { Catalog } from '../catalog/catalog.ts';
import type { Dataset } from '../datasets/dataset.ts';
import { ticksOf } from '../datasets/dataset-age.ts';
import { registerDatasets } from '../datasets/register.ts';
import { type Clock, isExpired } from '../domain/instant.ts';
import { once } from '../domain/once.ts';
import { NEVER } from '../domain/time.ts';
import { openFilesMax } from '../files/open-files-max.ts';
import { AuthFailureLimiter } from '../http/auth-failure-limiter.ts';
import type { Authenticate } from '../http/authenticate.ts';
import { CompressedCache } from '../http/compressed-cache.ts';
import { InFlightRequests } from '../http/in-flight-requests.ts';
import type { RequestTokens } from '../http/rate-limit.ts';
import { requestIds } from '../http/request-ids.ts';
import { makeResponseCache } from '../http/response-cache.ts';
import type { DatasetRoute } from '../http/results-routes.ts';
import { type HttpOptions, type RunningServer, startServer } from '../http/server.ts';
import type { RandomBytes } from '../keys/create-key.ts';
import { hashKey } from '../keys/key-hash.ts';
import type { Metrics } from '../observation/metrics.ts';
import { fanOut, type Observe } from '../observation/observation.ts';
import type { CatalogCache } from '../results/cache/catalog-cache.ts';
import type { RunQueue } from '../runs/run-queue.ts';
import { unsentBytesMax } from '../settings/memory.ts';
import { CACHE_SHARES } from './cache-shares.ts';
import { healthOf } from './health.ts';
import { rateLimitOf } from './rate-limit.ts';
import { openReadPath } from './read-path.ts';
import { joinReplicas, type ReplicaOfProcess } from './replicas.ts';
import { roomAfterFaults } from './room-for-commits.ts';
import type { Service } from './service.ts';
import { startTelemetry, type TelemetryEffects } from './telemetry.ts';
import { openWriting } from './writing.ts';

export interface ServerEffects extends TelemetryEffects {
  readonly randomBytes: RandomBytes;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly newId: () => string;
  /** What this replica is called, and whether this process writes for it that it runs. */
  readonly replica: ReplicaOfProcess;
  readonly observe: Observe;
  /** The log's writer. */
  readonly logLines: { readonly dropped: number };
  /** What several processes on one address share; undefined: it is the only one. */
  readonly shared?: SharedByWorkers;
}

export interface SharedByWorkers {
  /** Undefined where requests are not limited. */
  readonly tokens: RequestTokens | undefined;
  /** Turns the metrics of this process into those of all processes. */
  shareMetrics(own: Metrics): Pick<Metrics, 'contentType' | 'text'>;
  /** Asked when this process stops: whether others take the connections that come from now on. */
  mayLeave(): Promise<boolean>;
}

/** How long to wait until the connections of answers that were cut have reported their end. */
const CUT_MILLIS_MAX = 5000;

/** Busy clients send their next request within this time, and learn from its answer that their connection closes. */
const LINGER_MILLIS = 1000;

/** Stops and closes everything when it is disposed of. */
export interface Server extends AsyncDisposable {
  readonly url: string;
  /** Tells all observers: the log, the metrics, … */
  readonly observe: Observe;
  /** The queue for runs of queries. A runner in this process hears of them at once. */
  readonly runQueue: RunQueue;
  /** Accepts no more requests. Resolves when the last answer is out, or was cut at the end of the grace period. */
  stop(): Promise<void>;
}

/** Listens until it is stopped. @throws when it cannot listen on the address */
export async function serve(service: Service, effects: ServerEffects): Promise<Server> {
  const { settings, clock, sleep, monotonic } = service;
  const observers = [effects.observe, roomAfterFaults(service)];
  const observe = fanOut(observers);
  await using opened = new AsyncDisposableStack();
  openMeanwhile(service, opened);
  const catalog = await service.catalog();
  const replicas = opened.use(joinReplicas(service, catalog, effects, observe));
  const datasets = await registeredDatasets(service, catalog, observe);
  const { results, missing, ...readPath } = await openReadPath(service, { ...effects, observe, replicas }, opened);
  const compressed = new CompressedCache(settings.pageCacheBytes * CACHE_SHARES.compressed);
  const responseCache = makeResponseCache(settings.pageCacheBytes * CACHE_SHARES.answers);
  const options = httpOptionsOf(service, { datasets, compressed, responseCache, version: effects.version });
  const inFlight = new InFlightRequests();
  const { metrics } = opened.use(
    await startTelemetry(
      observers,
      service,
      {
        catalog,
        datasets,
        duckDbs: readPath.duckDbs,
        queues: readPath.queues,
        caches: { compressed, answers: responseCache, ...readPath.kept },
        parquet: results.parquet,
        heavyReads: results.read.limiter,
        requests: inFlight,
        logLines: effects.logLines,
        replicas,
      },
      effects,
    ),
  );
  const writing = await openWriting(service, { ...effects, replicas });
  const rateLimit = rateLimitOf(settings, { given: effects.shared?.tokens, replicas, monotonic });
  const server: RunningServer = await startServer(
    {
      results,
      health: healthOf({ catalog, store: await service.store(), missing }, observe, service),
      authenticate: authenticator(results.catalogCache, settings.authFailuresPerMinute, { clock, monotonic }),
      onFault: (fault) => observe({ kind: 'fault', ...fault }),
      context: { inFlight, newRequestId: requestIds(replicas.name), observe, clock, monotonic, rateLimit },
      metrics: effects.shared?.shareMetrics(metrics) ?? metrics,
      sleep,
      usage: { usage: catalog.usage, clock },
      browsing: { catalog, clock, engine: settings.engine.kind },
      writing,
    },
    options,
    replicas.joined,
  );
  observe({ kind: 'listening', url: server.url });
  const closing = opened.move();
  const stop = once(() => stopServing(server, inFlight, settings.shutdownGraceMillis, { ...effects, sleep, observe }));
  return {
    url: server.url,
    observe,
    runQueue: writing.runQueue,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
      await closing.disposeAsync();
    },
  };
}

async function registeredDatasets(service: Service, catalog: Catalog, observe: Observe): Promise<readonly Dataset[]> {
  const { datasets, refusals } = await registerDatasets(catalog, await service.datasets(), service.clock());
  for (const refusal of refusals) observe({ kind: 'dataset_refused', refusal });
  return datasets;
}

/** Starts to open the DuckDBs, which other threads do, while this thread goes on with the start. */
function openMeanwhile(service: Service, opened: AsyncDisposableStack): void {
  const opening = Promise.allSettled([service.rangeReader(), service.scanner(), service.writer()]);
  opened.defer(async () => void (await opening));
}

/**
 * Waits for the answers in flight, and cuts those that outlast the grace period. New requests are refused; but where other workers go on, new
 * connections are left to them, and each open connection is closed after its next answer, so that its client connects to one of them.
 */
async function stopServing(
  server: RunningServer,
  inFlight: InFlightRequests,
  graceMillis: number,
  { sleep, observe, shared }: Pick<Service, 'sleep'> & Pick<ServerEffects, 'observe' | 'shared'>,
): Promise<void> {
  const leaves = shared !== undefined && (await shared.mayLeave());
  if (leaves) server.stopListening();
  observe({ kind: 'stopping', inFlight: inFlight.count });
  if (leaves) {
    inFlight.closeConnections();
    await sleep(Math.min(LINGER_MILLIS, graceMillis), NEVER);
  } else inFlight.stopAccepting();
  const cut = await inFlight.drained(graceMillis, sleep);
  await server.close();
  // Answers that were cut are counted, too, before the counters are closed.
  await inFlight.drained(CUT_MILLIS_MAX, sleep);
  observe({ kind: 'stopped', cut });
}

interface AnsweringParts {
  readonly datasets: readonly Dataset[];
  readonly compressed: CompressedCache;
  readonly responseCache: HttpOptions['responseCache'];
  readonly version: string;
}

function httpOptionsOf(
  { settings, clock }: Service,
  { datasets, compressed, responseCache, version }: AnsweringParts,
): HttpOptions {
  return {
    host: settings.host,
    port: settings.port,
    publicUrl: settings.publicUrl,
    keyHeaders: ['X-Service-Api-Key', ...settings.keyHeaders],
    headerPrefixes: ['X-Service', ...settings.compatHeaderPrefixes],
    datasets: datasets.map((dataset) => datasetRoute(dataset, clock)),
    connections: {
      // Half of the files are for connections: an admitted request must be able to open files for its answer.
      connectionsMax: Math.min(settings.connectionsMax, Math.floor(openFilesMax() / 2)),
      headerBytesMax: settings.headerBytesMax,
      headersMillis: settings.headersTimeoutMillis,
      idleMillis: settings.idleTimeoutMillis,
      stalledMillis: settings.stalledTimeoutMillis,
    },
    trustProxy: settings.trustProxy,
    corsOrigins: settings.corsOrigins,
    documentation: { version, datasets },
    publicKey: settings.publicKey,
    writing: {
      results: { bytesMax: settings.uploadBytesMax, stalledMillis: settings.uploadStalledMillis },
      jsonStalledMillis: Math.min(settings.headersTimeoutMillis, settings.uploadStalledMillis),
    },
    compressed,
    responseCache,
    unsentBytesMax: unsentBytesMax(settings),
  };
}

/** Looks a key up, and counts the wrong keys of each address. An expired key counts as wrong. */
function authenticator(
  catalogCache: CatalogCache,
  perMinute: number,
  { clock, monotonic }: { readonly clock: Clock; readonly monotonic: () => number },
): Authenticate {
  const authFailures = new AuthFailureLimiter({ perMinute, monotonic });
  return async (key, address) => {
    const principal = await catalogCache.principal(key, hashKey(key));
    if (principal !== undefined && !isExpired(principal.expiresAt, clock())) return principal;
    authFailures.count(address());
    return undefined;
  };
}

function datasetRoute(dataset: Dataset, clock: Clock): DatasetRoute {
  const { last, next } = ticksOf(dataset, clock);
  const { path, queryId } = dataset;
  return { path: path.replace(/^\/v1/, ''), queryId, nextRefresh: next, lastRefresh: last };
}
