/**
 * From a request to the principal whose key it carries (contract §§1, 8): a header of keys first, then `Authorization: Bearer`,
 * else the `api_key` parameter. The addresses of shares carry a token instead, and nothing else does (§11).
 */
import type { FastifyRequest } from 'fastify';
import type { Principal } from '../domain/principal.ts';
import { RequestError } from '../errors/errors.ts';
import { parseQueryString } from '../results/request/query-string.ts';
import type { RequestContext } from './request-context.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The address has the token of a share in it, as `:token`, and needs no key. */
    readonly isShared?: boolean;
  }
  interface FastifyRequest {
    /** Whose key the request carries. Undefined on the routes that need none. */
    principal: Principal | undefined;
  }
}

/**
 * The principal of a key, or undefined when it is unknown or revoked.
 * @param address where the request came from
 * @throws RequestError rate_limited when it is wrong and too many wrong keys came from there
 */
export type Authenticate = (key: string, address: () => string) => Promise<Principal | undefined>;

/** Longer than any key: longer texts are not even hashed. */
const KEY_LENGTH_MAX = 512;

/**
 * The first stage of a request: whose it is, and whether it may come in now.
 * @throws RequestError shutting_down · invalid_api_key · share_not_found · rate_limited
 */
export async function admitRequest(
  request: FastifyRequest,
  keyHeaders: readonly string[],
  authenticate: Authenticate,
  { inFlight, rateLimit, monotonic }: Pick<RequestContext, 'inFlight' | 'rateLimit' | 'monotonic'>,
): Promise<void> {
  if (inFlight.stopping) {
    throw new RequestError('shutting_down', 'the service is stopping; try again in some seconds');
  }
  const start = monotonic();
  try {
    request.principal = await authenticateRequest(request, keyHeaders, authenticate);
  } finally {
    request.stats.spent('authenticate', monotonic() - start);
  }
  if (rateLimit === undefined) return;
  request.allowance = await rateLimit.take(request.principal.keyId);
  if (!request.allowance.allowed) throw rateLimit.refusal(request.allowance);
}

/** @throws RequestError invalid_api_key · share_not_found, the same for every reason */
async function authenticateRequest(
  request: FastifyRequest,
  keyHeaders: readonly string[],
  authenticate: Authenticate,
): Promise<Principal> {
  const isShared = request.routeOptions.config.isShared === true;
  const key = isShared ? (request.params as { readonly token: string }).token : keyOf(request, keyHeaders);
  const principal =
    key === undefined || key.length > KEY_LENGTH_MAX ? undefined : await authenticate(key, () => request.ip);
  if (principal !== undefined && isShared === (principal.share !== undefined)) return principal;
  throw isShared
    ? new RequestError('share_not_found', 'not found: nothing is shared at this address, or no longer')
    : new RequestError('invalid_api_key', 'invalid API Key');
}

function keyOf(request: FastifyRequest, keyHeaders: readonly string[]): string | undefined {
  for (const name of keyHeaders) {
    const value = request.headers[name.toLowerCase()];
    if (typeof value === 'string' && value !== '') return value;
  }
  const bearer = /^bearer +([^ ]+) *$/i.exec(request.headers.authorization ?? '')?.[1];
  if (bearer !== undefined) return bearer;
  return parseQueryString(queryStringOf(request))
    .get('api_key')
    ?.find((value) => value !== '');
}

/** Of a request that has been admitted. */
export function principalOf({ principal, url }: FastifyRequest): Principal {
  if (principal === undefined) throw new Error(`${url.split('?', 1)[0]} was reached without a key`);
  return principal;
}

/** What follows the question mark in the request's address. */
export function queryStringOf(request: FastifyRequest): string {
  const question = request.url.indexOf('?');
  return question < 0 ? '' : request.url.slice(question + 1);
}
