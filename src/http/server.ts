/**
 * The HTTP service: Fastify with our routes and our errors. What a request goes through: its key is checked before its route
 * (contract §1), the route hands it to the pipeline, and whatever fails comes out of the one error handler.
 */
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Sleep } from '../domain/time.ts';
import { Turns } from '../domain/turns.ts';
import { RequestError } from '../errors/errors.ts';
import { listenFailure } from '../errors/startup-error.ts';
import type { Metrics } from '../observation/metrics.ts';
import type { LruBytes } from '../results/cache/lru-bytes.ts';
import type { ResultsDeps } from '../results/deps.ts';
import { type Authenticate, admitRequest } from './authenticate.ts';
import { type BrowsingDeps, browsingRoutes } from './browsing/browsing-routes.ts';
import { refuseConnection } from './connection-errors.ts';
import { cutWhenStalled } from './cut-when-stalled.ts';
import { documentationRoutes } from './docs.ts';
import { type OnFault, sendError } from './errors.ts';
import { findExample } from './example-ids.ts';
import type { ExplorerDescription } from './explorer/explorer-page.ts';
import { explorerRoutes } from './explorer/explorer-routes.ts';
import { type HealthDeps, healthRoutes } from './health.ts';
import { MCP_PATH, mcpRoutes, onlyPost } from './mcp/mcp-routes.ts';
import { metricsRoute } from './metrics-route.ts';
import { createServer as createHttpServer, METHODS, ServerResponse } from './node-http.ts';
import { OpenAnswers } from './open-answers.ts';
import { isOpenPath } from './open-paths.ts';
import type { ApiDescription } from './openapi/document.ts';
import { refuseUnusual } from './refuse-unusual.ts';
import { followRequests, type RequestContext, requestIdOf } from './request-context.ts';
import { RequestTurns } from './request-turns.ts';
import { resetWhenCut } from './reset-when-cut.ts';
import { type CachedResponse, ResponseCache } from './response-cache.ts';
import { type ResultsRoutesOptions, resultsRoutes } from './results-routes.ts';
import { pageServer } from './serve-page.ts';
import { sharedRoutes } from './sharing/shared-routes.ts';
import { UnsentAnswers } from './unsent-answers.ts';
import { type UsageRoutesDeps, usageRoutes } from './usage-routes.ts';
import { cutUnread } from './writing/received-body.ts';
import type { WriteRoutesOptions } from './writing/write-routes.ts';
import { type WritingDeps, writing } from './writing/writing.ts';

export interface HttpOptions extends Omit<ResultsRoutesOptions, 'onFault' | 'unsent' | 'chunkTurns'> {
  readonly host: string;
  readonly port: number;
  /** Header names that may carry the key, in the order they are looked at. */
  readonly keyHeaders: readonly string[];
  readonly connections: ConnectionLimits;
  /** Of the bodies of requests. */
  readonly writing: Omit<WriteRoutesOptions, 'publicUrl' | 'sleep'>;
  /** Whose `X-Forwarded-…` headers say where a request came from and how it was addressed. */
  readonly trustProxy: TrustProxy;
  /** Pages of these origins may read answers; `*` is every one. */
  readonly corsOrigins: readonly string[];
  /** Answers that are sent again as they were. */
  readonly responseCache: LruBytes<CachedResponse>;
  /** The most memory of answers that wait for slow clients. */
  readonly unsentBytesMax: number;
  /** The key of the explorer's visitors who have none of their own. */
  readonly publicKey: string | undefined;
  /** What the description of the API says besides. */
  readonly documentation: Pick<ApiDescription, 'version' | 'datasets'>;
}

export interface HttpDeps {
  readonly results: ResultsDeps;
  readonly health: HealthDeps;
  readonly authenticate: Authenticate;
  readonly onFault: OnFault;
  readonly context: Omit<RequestContext, 'cors' | 'stalledMillis' | 'unsent'>;
  readonly metrics: Pick<Metrics, 'contentType' | 'text'>;
  readonly sleep: Sleep;
  readonly usage: UsageRoutesDeps;
  readonly browsing: BrowsingDeps;
  readonly writing: WritingDeps;
}

/** Limits on connections, so that slow and silent clients do not add up. */
export interface ConnectionLimits {
  readonly connectionsMax: number;
  /** The head of a request: address and headers. */
  readonly headerBytesMax: number;
  /** From the first byte of a request to the end of its head. */
  readonly headersMillis: number;
  /** Between two requests. */
  readonly idleMillis: number;
  /** While a request is in flight: how long nothing may move on its connection, neither in nor out. */
  readonly stalledMillis: number;
}

export interface RunningServer {
  /** Where it listens: `http://127.0.0.1:8080`. */
  readonly url: string;
  /** Takes no more connections, and goes on with those that it has. */
  stopListening(): void;
  /** Stops listening and cuts every connection that is still there. */
  close(): Promise<void>;
}

/** Nobody; everybody; so many proxies before us; or the addresses and networks of proxies. */
export type TrustProxy = boolean | number | readonly string[];

/** What a page of another origin may send beside the key. */
const PAGE_HEADERS = [
  'authorization',
  'content-digest',
  'content-encoding',
  'content-type',
  'idempotency-key',
  'if-none-match',
  'if-range',
  'mcp-protocol-version',
  'range',
  'traceparent',
  'want-repr-digest',
  'x-request-id',
];
/** No route has a schema. Fastify would load and set up what compiles them: 50 ms of the start, and 4 MB. */
const NO_SCHEMAS = { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } };

function noSchemas(): never {
  throw new Error('a route has a schema, but requests and answers are read and written by ourselves');
}

const ROUTER_OPTIONS = {
  ignoreTrailingSlash: true,
  // The pipeline reads the query string itself, because a stray percent sign is no error in ours.
  querystringParser: () => ({}),
};

/**
 * How many chunks of answers are handed to the system in one round of the event loop. A chunk has at most a megabyte, which takes some tenths
 * of a millisecond, or several times that where other programs compete for the memory.
 */
const CHUNKS_PER_ROUND = 8;

/** How often Node looks for connections that take too long. */
const CONNECTIONS_CHECK_MILLIS = 5000;

/** @param isReady resolves when requests may come */
export async function startServer(
  deps: HttpDeps,
  options: HttpOptions,
  isReady: Promise<void>,
): Promise<RunningServer> {
  const server = createServer(deps, options);
  await isReady;
  try {
    await server.listen({ host: options.host, port: options.port });
  } catch (error) {
    throw listenFailure(error, options.host, options.port);
  }
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  const close = async () => {
    const closed = server.close();
    server.server.closeAllConnections();
    await closed;
  };
  // Not its own `close`, which ends idle connections at once: a request that is on its way on one would be lost.
  const stopListening = () => void NetServer.prototype.close.call(server.server);
  return { url: `http://${host}:${port}`, stopListening, close };
}

export function createServer(deps: HttpDeps, options: HttpOptions): FastifyInstance {
  const { connectionsMax, headerBytesMax, stalledMillis } = options.connections;
  const { keyHeaders } = options;
  const cors = { origins: options.corsOrigins, requestHeaders: [...keyHeaders, ...PAGE_HEADERS] };
  const context = { ...deps.context, cors, stalledMillis, unsent: new UnsentAnswers(options.unsentBytesMax) };
  const chunkTurns = new Turns(CHUNKS_PER_ROUND);
  const responseCache = new ResponseCache(deps.results.catalogCache, context, options.responseCache, chunkTurns);
  const answers = new OpenAnswers(deps.sleep);
  const server = Fastify({
    exposeHeadRoutes: false,
    schemaController: NO_SCHEMAS,
    serverFactory: (handler) => {
      const turns = new RequestTurns(context.monotonic);
      const begin: RequestListener = (request, response) => {
        // The client may have gone before its turn came.
        if (response.destroyed) return;
        // Not set for the whole server: answers out of memory would each pay for a timer, though they are out at once.
        cutWhenStalled(response, stalledMillis, context.monotonic);
        cutUnread(request, response, deps.sleep);
        resetWhenCut(request, response);
        handler(request, response);
      };
      const answer = responseCache.before((request, response) => turns.begin(() => begin(request, response)));
      return listenerOf(options.connections, answers, answer);
    },
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, answers.of(socket)),
    trustProxy: trusted(options.trustProxy),
    // Requests that come while the service stops are refused in authenticate.ts, in the shape of all errors.
    return503OnClosing: false,
    genReqId: (request) => requestIdOf(request, context.newRequestId),
    rewriteUrl: pathOf,
    // No parameter of a path is too long for the router, so that a long one is answered in its turn: as malformed, after the key.
    routerOptions: { ...ROUTER_OPTIONS, maxParamLength: headerBytesMax },
  });
  // Routes that write read bodies by themselves, of whatever type. A body that is sent to another must not turn a 404 into a 415.
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('*', (request, payload, done) => {
    if (request.routeOptions.config.readsBody !== true) payload.resume();
    done(null);
  });
  for (const method of METHODS) if (!server.supportedMethods.includes(method)) server.addHttpMethod(method);
  server.server.maxConnections = connectionsMax;
  for (const member of ['principal', 'reusable', 'versionBefore']) server.decorateRequest(member);
  followRequests(server, context, (...answer) => responseCache.offer(...answer));
  server.addHook('onRequest', async (request) => {
    request.versionBefore = deps.results.catalogCache.version;
    if (!isOpenPath(request)) await admitRequest(request, keyHeaders, deps.authenticate, context);
    refuseUnusual(request.raw);
    // Before the body is looked at: what is not there is 404 whatever is sent to it.
    if (request.is404) throw routeNotFound(request);
  });
  server.setErrorHandler((error, request, reply) => sendError(error, request, reply, deps.onFault));
  server.setNotFoundHandler((request) => {
    throw routeNotFound(request);
  });
  healthRoutes(server, deps.health, deps.context.inFlight);
  metricsRoute(server, deps.metrics);
  const sending = { ...options, unsent: context.unsent, chunkTurns, onFault: deps.onFault };
  const described = { ...options, ...options.documentation, serverUrl: options.publicUrl };
  const serve = pageServer(server, sending);
  explorerRoutes(serve, described, explorerOf(options));
  documentationRoutes(serve, described, () => findExample(deps.results, options.datasets));
  apiRoutes(server, deps, options, sending);
  return server;
}

function apiRoutes(server: FastifyInstance, deps: HttpDeps, options: HttpOptions, sending: ResultsRoutesOptions): void {
  const { publicUrl, corsOrigins } = options;
  for (const prefix of ['/v1', '/api/v1']) {
    resultsRoutes(server, prefix, deps.results, sending);
    sharedRoutes(server, prefix, deps.results, sending);
    usageRoutes(server, prefix, deps.usage);
    browsingRoutes(server, prefix, deps.browsing, publicUrl);
    writing(server, prefix, deps.writing, { ...options.writing, publicUrl, sleep: deps.sleep });
  }
  const { version } = options.documentation;
  const stalledMillis = options.writing.jsonStalledMillis;
  const { sleep } = deps;
  mcpRoutes(server, deps, { version, publicUrl, corsOrigins, stalledMillis, sleep, unsent: sending.unsent });
}

function explorerOf({ documentation, keyHeaders, publicKey, datasets }: HttpOptions): ExplorerDescription {
  const { version } = documentation;
  const described = documentation.datasets.flatMap(({ name, title, path, schedule }) =>
    datasets
      .filter((route) => path === `/v1${route.path}`)
      .map(({ queryId }) => ({ queryId, name, title, path, schedule })),
  );
  return { version, keyHeader: keyHeaders[0] ?? '', publicKey, datasets: described };
}

/** What clients ask for if the base address that they were given ends in `/v1`: they add it themselves. */
const VERSION_TWICE = /^(?:\/api)?\/v1(?:\/api)?\/v1(?:\/|$)/;

function routeNotFound({ method, url }: FastifyRequest): RequestError {
  const path = url.split('?', 1)[0] ?? '';
  if (path === MCP_PATH) return onlyPost();
  const why = VERSION_TWICE.test(path) ? ': /v1 is there twice; clients add it to the address that they are given' : '';
  return new RequestError('route_not_found', `not found: ${method} ${path}${why}`);
}

function listenerOf(
  { headerBytesMax, headersMillis, idleMillis }: ConnectionLimits,
  answers: OpenAnswers,
  listener: RequestListener,
): Server {
  const answer: RequestListener = (request, response) => {
    answers.begin(response);
    listener(request, response);
  };
  const server = createHttpServer(
    {
      maxHeaderSize: headerBytesMax,
      headersTimeout: headersMillis,
      connectionsCheckingInterval: Math.min(CONNECTIONS_CHECK_MILLIS, headersMillis),
      keepAliveTimeout: idleMillis,
      // A body may take its time as long as it keeps coming (writing/received-body.ts); a request without one needs no stream for it.
      requestTimeout: 0,
      optimizeEmptyRequests: true,
      // A missing Host header is refused in refuse-unusual.ts, in the shape of all errors.
      requireHostHeader: false,
    },
    answer,
  );
  // Whoever asks whether to go on with a body is told by whoever reads it.
  server.on('checkContinue', answer);
  server.on('checkExpectation', answer);
  server.on('connect', (request, socket) => {
    // A tunnel is refused like any other method that is none of ours, on a connection that then ends.
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    response.once('finish', () => socket.end(() => socket.destroy()));
    request.url = '/';
    answer(request, response);
  });
  // Who closes its side of a connection may still wait for the answer.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('connection', (socket) => answers.watch(socket));
  return server;
}

function trusted(trust: TrustProxy): boolean | string[] | ((address: string, hop: number) => boolean) {
  if (typeof trust === 'number') return (_address, hop) => hop < trust;
  return typeof trust === 'boolean' ? trust : [...trust];
}

/**
 * The path and what follows it: a proxy may send the whole address (RFC 9112 §3.2.2). A path that cannot be percent-decoded is taken
 * literally: the identifier in it is then answered as malformed.
 */
function pathOf(request: IncomingMessage): string {
  const url = (request.url ?? '/').replace(/^https?:\/\/[^/?#]*\/?/i, '/');
  const question = url.indexOf('?');
  const path = question < 0 ? url : url.slice(0, question);
  try {
    decodeURIComponent(path);
    return url;
  } catch {
    return path.replaceAll('%', '%25') + (question < 0 ? '' : url.slice(question));
  }
}
