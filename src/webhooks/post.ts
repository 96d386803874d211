/**
 * One attempt over HTTP. The connection goes to the very address that was checked: a name is looked up once, by the connection itself, so
 * that it cannot mean another host a moment later. Redirects are not followed: they are an answer like any other.
 */
import { type LookupAddress, lookup } from 'node:dns';
import { type ClientRequest, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { shortened } from '../domain/shortened.ts';
import { type Sleep, TimeLimit } from '../domain/time.ts';
import { type AddressRules, isPublicAddress, literalAddress } from './public-address.ts';

export interface PostRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type PostOutcome =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfter?: string }
  | { readonly kind: 'failed'; readonly error: string };

/** Makes one attempt. Rejects only when the signal is aborted. */
export type Post = (request: PostRequest, signal: AbortSignal) => Promise<PostOutcome>;

export interface PostOptions extends AddressRules {
  /** Of the service: `1.2.3`. */
  readonly version: string;
  readonly sleep: Sleep;
  /** Looks names up; the system's when left out. */
  readonly lookup?: typeof lookup;
}

const ATTEMPT_MILLIS_MAX = 15_000;
/** How much of an answer is read, and thrown away. */
const ANSWER_BYTES_MAX = 65_536;
const HEAD_BYTES_MAX = 16_384;
const ERROR_LENGTH_MAX = 200;

export function poster(options: PostOptions): Post {
  return async (given, signal) => {
    using limit = new TimeLimit(ATTEMPT_MILLIS_MAX, options.sleep);
    try {
      return await attempt(given, options, AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (limit.signal.aborted) return { kind: 'failed', error: `no answer within ${ATTEMPT_MILLIS_MAX / 1000} s` };
      const message = error instanceof Error && error.message !== '' ? error.message : String(error);
      return { kind: 'failed', error: shortened(message, ERROR_LENGTH_MAX) };
    }
  };
}

async function attempt(
  { url, headers, body }: PostRequest,
  { allowsPrivate, version, lookup: look = lookup }: PostOptions,
  signal: AbortSignal,
): Promise<PostOutcome> {
  const target = new URL(url);
  const literal = literalAddress(target.hostname);
  // An IP address is never looked up, so `publicLookup` does not see it.
  if (literal !== undefined && !allowsPrivate) requirePublic([{ address: literal, family: 0 }], target.hostname);
  const send = target.protocol === 'https:' ? requestHttps : requestHttp;
  const request = send(target, {
    method: 'POST',
    // A connection of its own, without the proxies that the environment may name: they would look the name up again.
    agent: false,
    signal,
    maxHeaderSize: HEAD_BYTES_MAX,
    lookup: publicLookup(look, allowsPrivate),
    headers: {
      ...headers,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': `query-results-service/${version}`,
    },
  });
  return await answerTo(request, body);
}

/** Resolves with the status, whatever becomes of the answer's body. */
function answerTo(request: ClientRequest, body: string): Promise<PostOutcome> {
  return new Promise((resolve, reject) => {
    let hasStatus = false;
    request.on('error', (error) => {
      if (!hasStatus) reject(error);
    });
    request.on('response', (response) => {
      hasStatus = true;
      const { statusCode: status = 0, headers } = response;
      const retryAfter = headers['retry-after'];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > ANSWER_BYTES_MAX) response.destroy();
      });
      response.on('error', () => undefined);
      response.on('close', () =>
        resolve({ kind: 'answered', status, ...(retryAfter !== undefined && { retryAfter }) }),
      );
    });
    request.end(body);
  });
}

/** Finds only addresses that may be connected to. */
function publicLookup(look: typeof lookup, allowsPrivate: boolean): LookupFunction {
  return (hostname, options, found) => {
    look(hostname, { ...options, all: true }, (error, addresses) => {
      try {
        if (error !== null) throw error;
        const allowed = allowsPrivate ? addresses : requirePublic(addresses, hostname);
        const [first] = allowed;
        if (first === undefined) throw new Error(`${hostname} has no address`);
        if (options.all === true) found(null, [...allowed]);
        else found(null, first.address, first.family);
      } catch (failure) {
        found(failure as NodeJS.ErrnoException, []);
      }
    });
  };
}

/** @throws Error where none of them is */
function requirePublic(addresses: readonly LookupAddress[], hostname: string): readonly LookupAddress[] {
  const allowed = addresses.filter(({ address }) => isPublicAddress(address));
  if (allowed.length > 0) return allowed;
  throw new Error(`${hostname} is at no public address, and only such are connected to`);
}
