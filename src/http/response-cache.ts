/**
 * The same request again, byte for byte, has the same answer as long as nothing has been committed to the catalog and the result
 * has not expired. What was asked for a second time is therefore kept as it was sent, head and body, and sent again before the
 * request is routed: a page that everybody looks at costs little more than its bytes. Limits, accounts, log and metrics are as for
 * every other request; what differs from one answer to the next (its id, how long it may be kept, what the key has left) is
 * written anew.
 */
import { hash } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RequestStats } from '../observation/request-stats.ts';
import type { CatalogCache } from '../results/cache/catalog-cache.ts';
import type { AddressEntry } from '../results/cache/finished-pages.ts';
import { LruBytes } from '../results/cache/lru-bytes.ts';
import type { CachePolicy } from '../results/request/cache-policy.ts';
import { cacheControlOf } from '../results/respond/cache-policy.ts';
import { cutWhenStalled } from './cut-when-stalled.ts';
import type { RequestContext } from './request-context.ts';
import { newRequestId } from './request-ids.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What this request was answered with before, on the same terms. */
    repeated: Repeated | undefined;
  }
}

/** On what terms an answer may be given again. */
export interface Repeated extends Pick<AddressEntry, 'catalogVersion' | 'execution'> {
  readonly cachePolicy: () => CachePolicy;
}

export interface CachedResponse extends Repeated {
  readonly keyId: string;
  readonly route: string | undefined;
  readonly status: number;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  /** A string has a byte in each character. */
  readonly body: Uint8Array | string | undefined;
  /** What it costs whoever asks; no stage takes any time. */
  readonly stats: RequestStats;
}

interface NamedRequest extends Pick<IncomingMessage, 'url' | 'rawHeaders'> {
  readonly name: string;
}

/** Headers that each answer has anew. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'cache-control',
  'ratelimit',
  'ratelimit-policy',
  'server-timing',
  'x-request-id',
]);
/** A request with one of these is another each time, or is not what it seems. */
const NEVER_HOT =
  /^(x-request-id|traceparent|tracestate|content-length|transfer-encoding|expect|range|if-range|forwarded|x-forwarded-.*)$/i;
/** What an answer takes beside its body. */
const HEAD_BYTES = 2000;
/** Up to here Node sends the head and a string in one piece, without asking for memory. */
const STRING_BYTES_MAX = 12_000;

/** Where answers are kept, up to a number of bytes. */
export function makeResponseCache(bytesMax: number): LruBytes<CachedResponse> {
  return new LruBytes(bytesMax, ({ body }) => (body?.length ?? 0) + HEAD_BYTES);
}

export class ResponseCache {
  readonly #lookups: CatalogCache;
  readonly #life: RequestContext;
  readonly #answers: LruBytes<CachedResponse>;
  /** A connection's last request, since the next is mostly the same. The key in it is not kept longer than the connection. */
  readonly #last = new WeakMap<Socket, NamedRequest>();

  constructor(catalogCache: CatalogCache, context: RequestContext, answers: LruBytes<CachedResponse>) {
    this.#lookups = catalogCache;
    this.#life = context;
    this.#answers = answers;
  }

  /** Keeps an answer that is about to be sent, where it may be given again. */
  offer(request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
    const { repeated, principal, stats, raw } = request;
    if (repeated === undefined || principal === undefined || raw.method !== 'GET' || this.#life.inFlight.stopping)
      return;
    if (!(payload instanceof Uint8Array || (reply.statusCode === 304 && payload === undefined))) return;
    if (raw.rawHeaders.some((name, index) => index % 2 === 0 && NEVER_HOT.test(name))) return;
    const sent = Object.entries(reply.getHeaders()).filter(([name]) => !OWN_HEADERS.has(name));
    const headers = sent.flatMap(([name, value]) => [name, String(value)]);
    const bodyBytes = payload?.byteLength ?? 0;
    if (payload !== undefined) headers.push('content-length', String(bodyBytes));
    this.#answers.put(this.#nameOf(raw), {
      ...repeated,
      keyId: principal.keyId,
      route: request.routeOptions.url,
      status: reply.statusCode,
      headers,
      body: payload !== undefined && bodyBytes <= STRING_BYTES_MAX ? bytesAsText(payload) : payload,
      stats: Object.assign(new RequestStats(), stats, { stageMillis: new Map(), bodyBytes }),
    });
  }

  /** Answers what it can, and leaves the others to `next`. */
  before(next: RequestListener): RequestListener {
    return (request, response) => {
      const answer = request.method === 'GET' ? this.#answers.get(this.#nameOf(request)) : undefined;
      if (answer === undefined || this.#life.inFlight.stopping) {
        next(request, response);
        return;
      }
      const send = () => {
        // While the catalog was asked the client may have gone, and nobody would be told that the answer is over.
        if (response.destroyed) return;
        if (!this.#send(answer, response)) next(request, response);
      };
      // Whatever is wrong with the catalog, the ordinary way says so.
      const leave = () => {
        if (!response.destroyed) next(request, response);
      };
      try {
        const refreshed = this.#lookups.refresh();
        if (refreshed === undefined) send();
        else refreshed.then(send, leave);
      } catch {
        leave();
      }
    };
  }

  #send(answer: CachedResponse, response: ServerResponse): boolean {
    const { inFlight, observe, clock, monotonic, rateLimit, stalledMillis } = this.#life;
    const { execution, keyId } = answer;
    const now = clock();
    if (answer.catalogVersion !== this.#lookups.version) return false;
    if (now >= (execution.expiresAt ?? Number.POSITIVE_INFINITY)) return false;
    const allowance = rateLimit?.take(keyId);
    if (allowance?.allowed === false) return false;
    const startMillis = monotonic();
    const requestId = newRequestId();
    const over = (whole: boolean) =>
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
    const cacheControl = cacheControlOf(answer.cachePolicy(), execution, now);
    const headers = [...answer.headers, 'cache-control', cacheControl, 'x-request-id', requestId];
    if (rateLimit !== undefined && allowance !== undefined) {
      headers.push(...Object.entries(rateLimit.headers(allowance)).flat());
    }
    response.writeHead(answer.status, headers);
    response.end(answer.body, 'latin1');
    // A small answer is with the operating system by now, and there is nothing to wait for.
    if (response.socket?.writableLength === 0) {
      over(true);
      return true;
    }
    inFlight.begin();
    cutWhenStalled(response, stalledMillis, monotonic);
    response.once('close', () => {
      inFlight.end();
      over(response.writableFinished);
    });
    return true;
  }

  /** All of a request: its head, in which the key is, only as a hash. */
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
