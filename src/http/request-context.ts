/**
 * What every request meets on its way in and out, whatever its route: it is counted, gets an id and the headers that all answers
 * have, and is told about when it is over. Hooks for all routes, kept cheap: they run for pages that are answered in 20 µs.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../domain/instant.ts';
import type { Observe } from '../observation/observation.ts';
import { RequestStats } from '../observation/request-stats.ts';
import { allowOrigin, answerPreflight, type Cors, isPreflight } from './cors.ts';
import type { InFlightRequests } from './in-flight-requests.ts';
import type { RateLimit } from './rate-limit.ts';
import { newRequestId } from './request-ids.ts';
import type { Allowance } from './token-buckets.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request costs. */
    stats: RequestStats;
    /** What its key may still ask, where that is limited. */
    allowance: Allowance | undefined;
  }
}

export interface RequestContext {
  readonly inFlight: InFlightRequests;
  readonly observe: Observe;
  readonly clock: Clock;
  /** Milliseconds that only ever grow. */
  readonly monotonic: () => number;
  readonly cors: Cors;
  readonly rateLimit: RateLimit | undefined;
  /** After which a connection on which nothing moves is cut, while an answer is under way. */
  readonly stalledMillis: number;
}

/** What a log calls the status of an answer that nobody waited for. */
const CLIENT_GONE = 499;
const REQUEST_ID = /^[\w.:+/=-]{1,128}$/;
/** An answer is never a page (the documentation sets a policy of its own). */
const POLICY = "default-src 'none'; frame-ancestors 'none'";

/** The id that the client gave the request, when it can stand in a log line as it is; else a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : newRequestId();
}

/** @param onSend told of every answer when its headers are complete */
export function followRequests(
  server: FastifyInstance,
  context: RequestContext,
  onSend: (request: FastifyRequest, reply: FastifyReply, payload: unknown) => void,
): void {
  const { inFlight, cors, monotonic } = context;
  server.decorateRequest('tally');
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
    addHeaders(request, reply, context);
    onSend(request, reply, payload);
    done();
  });
}

function addHeaders(request: FastifyRequest, reply: FastifyReply, { inFlight, cors, rateLimit }: RequestContext): void {
  reply.header('x-request-id', request.id);
  reply.header('x-content-type-options', 'nosniff');
  reply.header('referrer-policy', 'no-referrer');
  if (!reply.hasHeader('content-security-policy')) reply.header('content-security-policy', POLICY);
  const { stageMillis } = request.stats;
  if (stageMillis.size > 0) reply.header('server-timing', serverTiming(stageMillis));
  if (rateLimit !== undefined && request.allowance !== undefined) reply.headers(rateLimit.headers(request.allowance));
  if (inFlight.stopping) reply.header('connection', 'close');
  allowOrigin(request, reply, cors);
}

/** Of an answer that is sent as it is read: the stages before its first byte. */
function serverTiming(stageMillis: ReadonlyMap<string, number>): string {
  let text = '';
  for (const [name, millis] of stageMillis) {
    text += `${text === '' ? '' : ', '}${name};dur=${Math.round(millis * 1000) / 1000}`;
  }
  return text;
}

function observeAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  context: RequestContext,
  startMillis: number,
): void {
  const { stats, method } = request;
  const millis = context.monotonic() - startMillis;
  if (method === 'HEAD') stats.nothingHandedOut();
  // Streams count for themselves, as they go out.
  else if (stats.bodyBytes === 0) stats.bodyBytes = Number(reply.getHeader('content-length') ?? 0);
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
