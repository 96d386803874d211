/**
 * Pages of other origins may read our answers when the settings name them. Keys travel in headers that the page sets itself, never
 * in cookies, so an origin that may read gets nothing that its key would not give it.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface Cors {
  /** `https://app.example.com`; `*` stands for all. None: no page of another origin may read. */
  readonly origins: readonly string[];
  /** Headers that a page may send beside those that every page may. */
  readonly requestHeaders: readonly string[];
}

const PREFLIGHT_SECONDS = 600;

/** Sets what a browser asks for before it shows an answer to a page. */
export function allowOrigin(request: FastifyRequest, reply: FastifyReply, { origins }: Cors): void {
  if (origins.length === 0) return;
  if (origins.includes('*')) reply.header('access-control-allow-origin', '*');
  else {
    addToVary(reply);
    const { origin } = request.headers;
    if (origin === undefined || !origins.includes(origin)) return;
    reply.header('access-control-allow-origin', origin);
  }
  reply.header('access-control-expose-headers', '*');
}

/** A browser's question whether a page may ask; it has no key. */
export function isPreflight(request: FastifyRequest, { origins }: Cors): boolean {
  const { headers, method } = request;
  return method === 'OPTIONS' && origins.length > 0 && headers['access-control-request-method'] !== undefined;
}

export function answerPreflight(reply: FastifyReply, { requestHeaders }: Cors): FastifyReply {
  return reply
    .code(204)
    .header('access-control-allow-methods', 'GET, HEAD, POST, PUT, PATCH, DELETE')
    .header('access-control-allow-headers', requestHeaders.join(', '))
    .header('access-control-max-age', String(PREFLIGHT_SECONDS))
    .send();
}

function addToVary(reply: FastifyReply): void {
  const vary = reply.getHeader('vary');
  reply.header('vary', vary === undefined ? 'origin' : `${vary}, origin`);
}
