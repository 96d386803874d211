/**
 * What happens to every request, whatever its route: it is counted, gets an id and the headers that all answers have, and is
 * observed when its answer has ended. These hooks must be cheap: some pages are answered in 20 µs.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../domain/instant.ts';
import type { Allowance } from '../domain/token-buckets.ts';
import type { Observe } from '../observation/observation.ts';
import { RequestStats } from '../observation/request-stats.ts';
import { allowOrigin, answerPreflight, type Cors, isPreflight } from './cors.ts';
import { freshHeaders } from './fresh-headers.ts';
import type { InFlightRequests } from './in-flight-requests.ts';
import type { RateLimit } from './rate-limit.ts';
import type { UnsentAnswers } from './unsent-answers.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request costs, and how long its stages take. */
    stats: RequestStats;
    /** What its key may still ask, where that is limited. */
    allowance: Allowance | undefined;
  }
}

export interface RequestContext {
  readonly inFlight: InFlightRequests;
  readonly newRequestId: () => string;
  readonly observe: Observe;
  readonly clock: Clock;
  /** Milliseconds that only ever grow. */
  readonly monotonic: () => number;
  readonly cors: Cors;
  readonly rateLimit: RateLimit | undefined;
  /** A connection with an answer in flight is cut when nothing has moved on it for so long. */
  readonly stalledMillis: number;
  readonly unsent: UnsentAnswers;
}

/** The status in the log when the client went before the answer had one. */
const CLIENT_GONE = 499;
const REQUEST_ID = /^[\w.:+/=-]{1,128}$/;
/** No browser may show an answer as a page. The documentation sets a policy of its own. */
const POLICY = "default-src 'none'; frame-ancestors 'none'";

/** The id that the client gave the request, when it can stand in a log line as it is; else a new one. */
export function requestIdOf(request: IncomingMessage, newRequestId: () => string): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : newRequestId();
}

/** Given every answer that is about to be sent; `fresh` are the headers that it does not have yet. */
export type OfferAnswer = (
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  fresh: Readonly<Record<string, string>>,
) => void;

export function followRequests(server: FastifyInstance, context: RequestContext, offer: OfferAnswer): void {
  const { inFlight, cors, clock, monotonic, rateLimit } = context;
  server.decorateRequest('stats');
  server.decorateRequest('allowance');
  server.addHook('onRequest', (request, reply, done) => {
    const startMillis = monotonic();
    request.stats = new RequestStats();
    inFlight.begin();
    reply.raw.once('close', () => {
      inFlight.end();
      observeAnswer(request, reply, context, startMillis);
    });
    if (isPreflight(request, cors)) answerPreflight(reply, cors);
    else done();
  });
  server.addHook('onSend', (request, reply, payload, done) => {
    addProtection(reply);
    allowOrigin(request, reply, cors);
    const { id: requestId, allowance, reusable: kept } = request;
    const fresh = freshHeaders({ requestId, allowance, kept }, rateLimit, clock());
    offer(request, reply, payload, fresh);
    reply.headers(fresh);
    addServerTiming(request, reply);
    if (inFlight.closing) reply.header('connection', 'close');
    done();
  });
}

function addProtection(reply: FastifyReply): void {
  reply.header('x-content-type-options', 'nosniff');
  reply.header('referrer-policy', 'no-referrer');
  if (!reply.hasHeader('content-security-policy')) reply.header('content-security-policy', POLICY);
}

/** The time of each stage; of an answer that is sent as it is read, the stages before its first byte. */
function addServerTiming({ stats }: FastifyRequest, reply: FastifyReply): void {
  if (stats.stageMillis.size === 0) return;
  let text = '';
  for (const [name, millis] of stats.stageMillis) {
    text += `${text === '' ? '' : ', '}${name};dur=${Math.round(millis * 1000) / 1000}`;
    if (name === 'plan' && stats.way !== undefined) text += `;desc="${stats.way}"`;
  }
  reply.header('server-timing', text);
}

function observeAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  context: RequestContext,
  startMillis: number,
): void {
  const { stats, method } = request;
  const millis = context.monotonic() - startMillis;
  // A client that left before the head, such as while an answer was compressed, was given nothing.
  if (method === 'HEAD' || !reply.raw.headersSent) stats.clearCounts();
  // Streams have counted their bytes as they were sent.
  else if (stats.bodyBytes === 0) stats.bodyBytes = Number(reply.getHeader('content-length') ?? 0);
  const { countedBytes = 0, bodyBytes } = stats;
  // A client that left in the middle was not given all the rows that had been counted.
  if (bodyBytes < countedBytes) stats.keepShare(bodyBytes / countedBytes);
  const { traceparent } = request.headers;
  context.observe({
    kind: 'answered',
    requestId: request.id,
    keyId: request.principal?.keyId,
    method,
    route: request.routeOptions.url,
    status: reply.raw.headersSent ? reply.statusCode : CLIENT_GONE,
    startedAt: context.clock() - millis,
    millis,
    aborted: !reply.raw.writableFinished,
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    stats,
  });
}
