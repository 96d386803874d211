/**
 * Sends requests with a key, again where that may help: after broken connections, 429, 502, 503 and 504, with pauses that grow or that
 * `Retry-After` asks for. What changes something is sent under an `Idempotency-Key`, so that it is done once.
 */
import { ServiceError } from './errors.ts';

export interface RequestOptions {
  readonly url: string;
  readonly key: string;
  readonly fetch: typeof fetch;
  /** How often a request is sent again. */
  readonly retries: number;
  /** Resolves after so many milliseconds, or rejects when the signal is aborted. */
  readonly sleep: (millis: number, signal?: AbortSignal) => Promise<void>;
}

const PASSING: readonly number[] = [429, 502, 503, 504];
const FIRST_PAUSE_MILLIS = 500;
const PAUSE_MAX_MILLIS = 20_000;
/** If the service asks for a longer pause, no new attempt is made. */
const RETRY_AFTER_MAX_MILLIS = 300_000;

export type Fields = Readonly<Record<string, unknown>>;

export class Requests {
  readonly #options: RequestOptions;

  /** @throws TypeError for an address or a key that cannot be one; it never shows the key */
  constructor(options: RequestOptions) {
    this.#options = { ...options, url: serviceAddress(options.url), key: sentKey(options.key) };
  }

  /** @param address absolute, or a path of the service @throws ServiceError */
  async get(address: string, signal?: AbortSignal): Promise<Fields> {
    return await this.#send(address, {}, (response) => jsonOf(response, address), signal);
  }

  /** @throws ServiceError */
  async post(path: string, body: Fields, signal?: AbortSignal): Promise<Fields> {
    const headers = { 'content-type': 'application/json', 'idempotency-key': `"${newIdempotencyKey()}"` };
    const sent = { method: 'POST', body: JSON.stringify(body), headers };
    return await this.#send(path, sent, (response) => jsonOf(response, path), signal);
  }

  /**
   * Once the body has begun, there is no new attempt: the stream fails if its connection does.
   * @param type what the body must be: the page of a proxy where people log in is none
   * @throws ServiceError
   */
  async open(path: string, type: string, signal?: AbortSignal): Promise<Response> {
    const ofType = async (response: Response) => {
      if (response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() === type) return response;
      await response.body?.cancel();
      throw notOfService(path, `not ${type}`);
    };
    return await this.#send(path, {}, ofType, signal);
  }

  async #send<T>(
    address: string,
    init: { readonly headers?: Readonly<Record<string, string>>; readonly method?: string; readonly body?: string },
    read: (response: Response) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const { retries, sleep } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await this.#attempt(address, init, read, signal);
      if (!(outcome instanceof Passing)) return outcome;
      const pause = outcome.retryAfterMillis ?? Math.min(PAUSE_MAX_MILLIS, FIRST_PAUSE_MILLIS * 2 ** attempt);
      if (attempt >= retries || pause > RETRY_AFTER_MAX_MILLIS) throw outcome.error;
      await sleep(pause, signal);
    }
  }

  async #attempt<T>(
    address: string,
    init: { readonly headers?: Readonly<Record<string, string>> },
    read: (response: Response) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T | Passing> {
    signal?.throwIfAborted();
    const { fetch, key } = this.#options;
    try {
      const headers = { ...init.headers, 'x-service-api-key': key };
      // The service never redirects; elsewhere the key is nobody's business.
      const sent = { ...init, headers, redirect: 'manual', ...(signal && { signal }) } as const;
      const response = await fetch(this.#urlOf(address), sent);
      if (response.ok) return await read(response);
      const error = isRedirect(response) ? await redirected(address, response) : await refusalOf(response);
      signal?.throwIfAborted();
      const passes = PASSING.includes(response.status) || error.code === 'idempotency_in_progress';
      if (!passes) throw error;
      return new Passing(error, retryAfterMillis(response.headers.get('retry-after')));
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof ServiceError) throw error;
      const message = `${pathIn(address)}: no whole answer came: ${reasonOf(error)}`;
      return new Passing(new ServiceError(message, undefined, undefined, { cause: error }), undefined);
    }
  }

  #urlOf(address: string): string {
    const { url } = this.#options;
    if (!/^https?:/i.test(address)) return url.replace(/\/+$/, '') + address;
    // The service may name any address for its pages, but a key that was sent under TLS is not sent without.
    if (/^https:/i.test(url) && !/^https:/i.test(address)) {
      throw new ServiceError(`the next page is at ${new URL(address).origin}, without TLS: set QRS_PUBLIC_URL there`);
    }
    return address;
  }
}

/** In a browser it may be relative to the page. What may have a secret in it is not shown: a text that is no address may be the key. */
function serviceAddress(url: string): string {
  const page = (globalThis as { readonly location?: { readonly href: string } }).location?.href;
  const address = URL.canParse(url, page) ? new URL(url, page) : undefined;
  if (address?.protocol !== 'http:' && address?.protocol !== 'https:') {
    const shown = /^[^@?#]*[:.][^@?#]*$/.test(url) ? `"${url}"` : 'no address';
    throw new TypeError(`url is ${shown}: expected the service's scheme and host, such as http://127.0.0.1:8080`);
  }
  if (!/[?#]/.test(url) && address.username === '' && address.password === '') return url.trim();
  throw new TypeError(
    'url has a user, a "?" or a "#": expected scheme, host and prefix alone; the key is given as key',
  );
}

/** The key without the line end of the file that it was read from. */
function sentKey(key: string): string {
  if (typeof key !== 'string') {
    throw new TypeError(`key is a text, not ${typeof key}: is the variable set that it is read from?`);
  }
  if (/^[ -~]*$/.test(key.trim())) return key.trim();
  throw new TypeError('the key has a character that no key has: was it copied whole, without quotes around it?');
}

/** 128 random bits. `randomUUID` would need TLS in a browser. */
function newIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A failure after which a new attempt may succeed. */
class Passing {
  readonly error: ServiceError;
  readonly retryAfterMillis: number | undefined;

  constructor(error: ServiceError, millis: number | undefined) {
    this.error = error;
    this.retryAfterMillis = millis;
  }
}

/** @throws SyntaxError for JSON that breaks off, as where a proxy ends an answer early: to ask again may help */
async function jsonOf(response: Response, address: string): Promise<Fields> {
  const text = await response.text();
  let fields: Fields | null = null;
  try {
    fields = JSON.parse(text) as Fields | null;
  } catch (error) {
    if (text.trimStart().startsWith('{')) throw error;
  }
  if (isObject(fields)) return fields;
  throw notOfService(address, 'no JSON');
}

export function isObject(given: unknown): given is Fields {
  return typeof given === 'object' && given !== null && !Array.isArray(given);
}

function notOfService(address: string, what: string): ServiceError {
  return new ServiceError(`${pathIn(address)}: the answer is ${what}: is this the address of a service?`);
}

function pathIn(address: string): string {
  return address.replace(/\?.*$/s, '');
}

/** A browser does not say more of a redirect than that it is one. */
function isRedirect({ type, status }: Response): boolean {
  return type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(status);
}

async function redirected(address: string, { body, headers, status }: Response): Promise<ServiceError> {
  // What is not read keeps its connection, and with it the program.
  await body?.cancel().catch(() => undefined);
  const to = headers.get('location');
  const where = to === null ? '' : ` to ${pathIn(to)}`;
  const message = `${pathIn(address)}: redirected${where}, which is not followed: url is where the service itself answers`;
  return new ServiceError(message, status === 0 ? undefined : status);
}

async function refusalOf(response: Response): Promise<ServiceError> {
  // The status counts, even if the words break off.
  const text = await response.text().catch(() => '');
  const code = response.headers.get('x-error-code') ?? undefined;
  return new ServiceError(textOf(text) ?? `the service answered ${response.status}`, response.status, code);
}

function textOf(body: string): string | undefined {
  try {
    const { error } = JSON.parse(body) as Fields;
    return typeof error === 'string' ? error : (error as { readonly message?: string } | undefined)?.message;
  } catch {
    return undefined;
  }
}

/** Seconds, or a date. `Date.parse` finds a date in nearly anything: 1.5 is the 5th of January 2001. */
function retryAfterMillis(header: string | null): number | undefined {
  // Node's fetch leaves the blanks behind a value.
  const after = header?.trim() ?? '';
  if (!/^(\d+$|[A-Z])/i.test(after)) return undefined;
  const millis = /^\d+$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now();
  return Number.isNaN(millis) ? undefined : Math.max(0, millis);
}

/** The message of `fetch` says only that it failed; the cause says why. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}
