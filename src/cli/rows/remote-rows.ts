/** Rows of a result from a service elsewhere, with a key. */
import { wholeAnswer } from './whole-rows.ts';

export interface RemoteService {
  readonly url: string;
  readonly key: string;
}

export interface RemoteRequest {
  /** Below `/v1`: `/query/100/results`. */
  readonly path: string;
  readonly queryString: string;
  /** The media type of the answer: the page of a proxy where people log in is none. */
  readonly type: string;
}

/**
 * @returns the bytes of the answer
 * @throws Error with the service's own words, or saying that there is no such service
 */
export async function* remoteRows(
  { url, key }: RemoteService,
  { path, queryString, type }: RemoteRequest,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const base = url.replace(/\/+$/, '');
  const response = await asked(base, `${base}/v1${path}?${queryString}`, key, signal);
  if (!response.ok) throw new Error(await refusalOf(response, base));
  if (response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() !== type) {
    await response.body?.cancel();
    throw new Error(notOfService(response, base));
  }
  const whole = wholeAnswer(type, response.headers.get('x-service-row-count'));
  let bytes = 0;
  try {
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      whole.add(chunk);
      yield chunk;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(`the answer of ${base} broke off after ${bytes} bytes${reasonOf(error)}`, { cause: error });
  }
  const missing = whole.missing();
  if (missing !== undefined) throw new Error(`the answer of ${base} broke off after ${bytes} bytes: ${missing}`);
}

async function asked(base: string, address: string, key: string, signal: AbortSignal): Promise<Response> {
  try {
    // The service never redirects; elsewhere the key is nobody's business.
    return await fetch(address, { headers: { 'x-service-api-key': key }, redirect: 'error', signal });
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(`cannot reach ${base} (QRS_URL)${whyNotTls(base, error) ?? reasonOf(error)}`, { cause: error });
  }
}

/** OpenSSL says it in the names of its own files. */
function whyNotTls(base: string, error: unknown): string | undefined {
  if (!reasonOf(error).includes('wrong version number')) return undefined;
  return `: it does not speak TLS; ${base.replace(/^https:/i, 'http:')} might be what is meant`;
}

/** fetch says no more than that it failed; why stands in the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return '';
  return `: ${cause.message === '' && 'code' in cause ? String(cause.code) : cause.message}`;
}

const ANSWER_LENGTH_MAX = 100_000;

async function refusalOf(response: Response, base: string): Promise<string> {
  // The status counts, even if the words break off.
  const text = (await response.text().catch(() => '')).slice(0, ANSWER_LENGTH_MAX);
  const after = response.headers.get('retry-after');
  const again = after === null ? '' : ` (try again in ${after} ${after === '1' ? 'second' : 'seconds'})`;
  const key = response.status === 401 ? ' (QRS_KEY)' : '';
  const url = response.headers.get('x-error-code') === 'route_not_found' ? ' (QRS_URL)' : '';
  const error = errorIn(text);
  if (error !== undefined) return `${error}${key}${url}${again}`;
  return notOfService(response, base);
}

function notOfService({ status }: Response, base: string): string {
  return `${base} (QRS_URL) answered ${status}, and not as a Query Results Service does`;
}

function errorIn(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}
