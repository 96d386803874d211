/**
 * The same request again, byte for byte, has the same answer as long as nothing has been committed to the catalog and the result
 * has not expired. An answer that comes from memory is therefore kept with its head, and sent again before the request is
 * routed, which takes a tenth of the time. Limits, usage accounts, log and metrics work as for every other request, and
 * fresh-headers.ts makes the headers that differ. Why this may be done: docs/decisions/0015-answers-before-the-router.md.
 */
import { hash } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Instant, isExpired } from '../domain/instant.ts';
import { Turns } from '../domain/turns.ts';
import { RequestStats } from '../observation/request-stats.ts';
import type { AnswerTerms } from '../results/answer.ts';
import type { CatalogCache } from '../results/cache/catalog-cache.ts';
import { LruBytes } from '../results/cache/lru-bytes.ts';
import type { CachePolicy } from '../results/request/cache-policy.ts';
import { cutWhenStalled } from './cut-when-stalled.ts';
import { freshHeaders } from './fresh-headers.ts';
import type { RequestContext } from './request-context.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once this request is answered from memory: until when its answer may be given again. */
    reusable: Reusable | undefined;
    /** The catalog's version before the key was looked up. */
    versionBefore: number | undefined;
  }
}

/** Until when an answer may be given again: the next commit to the catalog, or the expiry of the execution or of the key. */
export interface Reusable extends AnswerTerms {
  readonly cachePolicy: () => CachePolicy;
}

export interface CachedResponse extends Reusable {
  readonly keyId: string;
  readonly keyExpiresAt: Instant | undefined;
  readonly route: string | undefined;
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  /** Each character of a string stands for one byte. */
  readonly body: Uint8Array | string | undefined;
  /** What it costs the key; no stage takes any time. */
  readonly stats: RequestStats;
}

interface NamedRequest extends Pick<IncomingMessage, 'url' | 'rawHeaders'> {
  readonly name: string;
}

/** The answer to a request with one of these cannot be kept: it differs each time, or depends on more than the request. */
const NEVER_KEPT =
  /^(x-request-id|traceparent|tracestate|content-length|transfer-encoding|expect|range|if-range|forwarded|x-forwarded-.*)$/i;
/** The memory that an answer takes in addition to its body. */
const HEAD_BYTES = 2000;
/** Up to this length Node sends the head and a string in one write, without allocating a buffer. */
const STRING_BYTES_MAX = 12_000;
/**
 * How many answers of up to `STRING_BYTES_MAX` are sent in one round of the event loop. Each takes some 20 µs, and several times that soon after
 * the start.
 */
const SMALL_PER_ROUND = 100;

/** Where answers are kept, up to a number of bytes. */
export function makeResponseCache(bytesMax: number): LruBytes<CachedResponse> {
  return new LruBytes(bytesMax, ({ body }) => (body?.length ?? 0) + HEAD_BYTES);
}

export class ResponseCache {
  readonly #catalogCache: CatalogCache;
  readonly #context: RequestContext;
  readonly #answers: LruBytes<CachedResponse>;
  readonly #smallTurns = new Turns(SMALL_PER_ROUND);
  readonly #chunkTurns: Turns;
  /** The last request of each connection, since the next is mostly the same. Its key is not kept longer than the connection. */
  readonly #last = new WeakMap<Socket, NamedRequest>();

  /** @param chunkTurns shared with all who hand chunks to the system */
  constructor(
    catalogCache: CatalogCache,
    context: RequestContext,
    answers: LruBytes<CachedResponse>,
    chunkTurns: Turns,
  ) {
    this.#catalogCache = catalogCache;
    this.#context = context;
    this.#answers = answers;
    this.#chunkTurns = chunkTurns;
  }

  /**
   * Keeps an answer that is about to be sent, where it may be given again.
   * @param fresh its headers that the next answer will have anew
   */
  offer(request: FastifyRequest, reply: FastifyReply, payload: unknown, fresh: Readonly<Record<string, string>>): void {
    const { reusable, principal, stats, raw, versionBefore } = request;
    if (reusable === undefined || principal === undefined || raw.method !== 'GET' || this.#context.inFlight.closing)
      return;
    // The key was looked up under an earlier version: it may have lost its rights since, while a token of its rate limit was waited for.
    if (reusable.catalogVersion !== versionBefore) return;
    if (!(payload instanceof Uint8Array || (reply.statusCode === 304 && payload === undefined))) return;
    // A key in the address is not kept.
    if (raw.url?.includes('api_key=') === true) return;
    if (raw.rawHeaders.some((name, index) => index % 2 === 0 && NEVER_KEPT.test(name))) return;
    const sent = Object.entries(reply.getHeaders()).filter(([name]) => !(name in fresh) && name !== 'server-timing');
    const headers = sent.flatMap(([name, value]) => [name, String(value)]);
    const bodyBytes = payload?.byteLength ?? 0;
    if (payload !== undefined) headers.push('content-length', String(bodyBytes));
    this.#answers.put(this.#nameOf(raw), {
      ...reusable,
      keyId: principal.keyId,
      keyExpiresAt: principal.expiresAt,
      route: request.routeOptions.url,
      status: reply.statusCode,
      headers,
      body: payload !== undefined && bodyBytes <= STRING_BYTES_MAX ? bytesAsText(payload) : payload,
      stats: Object.assign(new RequestStats(), stats, { stageMillis: new Map(), bodyBytes }),
    });
  }

  /** Answers the requests that it can, and leaves the others to `next`. */
  before(next: RequestListener): RequestListener {
    return (request, response) => {
      const answer = request.method === 'GET' ? this.#answers.get(this.#nameOf(request)) : undefined;
      if (answer === undefined || this.#context.inFlight.closing) {
        next(request, response);
        return;
      }
      const send = () => {
        // The client may have gone while the catalog was asked: its `close` is over, and nothing would observe the answer's end.
        if (response.destroyed) return;
        if (!this.#send(answer, response)) next(request, response);
      };
      // If the catalog cannot be asked, the usual way, through the router, tells the client so.
      const leave = () => {
        if (!response.destroyed) next(request, response);
      };
      const begin = () => {
        try {
          const refreshed = this.#catalogCache.refresh();
          if (refreshed === undefined) send();
          else refreshed.then(send, leave);
        } catch {
          leave();
        }
      };
      const turn = (answer.body instanceof Uint8Array ? this.#chunkTurns : this.#smallTurns).nextIfMany();
      if (turn === undefined) begin();
      else turn.then(begin);
    };
  }

  #send(answer: CachedResponse, response: ServerResponse): boolean {
    const { inFlight, newRequestId, observe, clock, monotonic, rateLimit, stalledMillis, unsent } = this.#context;
    const { execution, keyExpiresAt, keyId, body } = answer;
    const now = clock();
    if (answer.catalogVersion !== this.#catalogCache.version) return false;
    if (isExpired(execution.expiresAt, now) || isExpired(keyExpiresAt, now)) return false;
    const bytes = body instanceof Uint8Array ? [body] : [];
    // An answer for which there is no room is refused on the usual way, through the router.
    if (!unsent.hasRoom(keyId, bytes)) return false;
    const allowance = rateLimit?.takeNow(keyId);
    if (rateLimit !== undefined && allowance?.allowed !== true) return false;
    const startMillis = monotonic();
    const requestId = newRequestId();
    const observeAnswer = (whole: boolean) =>
      observe({
        kind: 'answered',
        requestId,
        keyId,
        method: 'GET',
        route: answer.route,
        status: answer.status,
        startedAt: now,
        millis: monotonic() - startMillis,
        aborted: !whole,
        traceparent: undefined,
        stats: answer.stats,
      });
    const fresh = freshHeaders({ requestId, allowance, kept: answer }, rateLimit, now);
    const headers = [...answer.headers];
    for (const name in fresh) headers.push(name, fresh[name] ?? '');
    response.writeHead(answer.status, headers);
    response.end(body, 'latin1');
    // The operating system has taken a small answer by now, so there is nothing to wait for.
    if (response.socket?.writableLength === 0) {
      observeAnswer(true);
      return true;
    }
    inFlight.begin();
    const held = unsent.take(keyId, bytes);
    cutWhenStalled(response, stalledMillis, monotonic);
    response.once('close', () => {
      held[Symbol.dispose]();
      inFlight.end();
      observeAnswer(response.writableFinished);
    });
    return true;
  }

  /** Stands for the whole request. The head is hashed, because the key is in it. */
  #nameOf({ rawHeaders, socket, url }: IncomingMessage): string {
    const last = this.#last.get(socket);
    if (last !== undefined && last.url === url && areEqual(last.rawHeaders, rawHeaders)) return last.name;
    const name = `${hash('sha256', rawHeaders.join('\n'), 'base64')} ${url}`;
    this.#last.set(socket, { url, rawHeaders, name });
    return name;
  }
}

function areEqual(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((text, index) => text === others[index]);
}

function bytesAsText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
