/** Sends requests to the API with the visitor's key. A refusal becomes an ApiError with the API's message. */
import { forgetKey, key, settings } from '../session.ts';

export type Parameters = Readonly<Record<string, string | number | undefined>>;

export class ApiError extends Error {
  readonly status: number;
  /** `X-Error-Code`: stable. */
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export interface ApiRequest {
  readonly parameters?: Parameters;
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: object;
  /** What the answer must be; JSON, when left out. */
  readonly type?: string;
  readonly signal?: AbortSignal;
}

const NOT_OF_SERVICE =
  'The answer is not one of this service. A proxy may want you to sign in again: load the page again.';

/** The path with the parameters that have a value. */
export function addressOf(path: string, parameters: Parameters = {}): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** @throws ApiError · TypeError where the service cannot be reached */
export async function request(
  path: string,
  { parameters, method = 'GET', body, type = 'application/json', signal }: ApiRequest = {},
): Promise<Response> {
  const sent = key.value;
  const response = await fetch(addressOf(path, parameters), {
    method,
    headers: {
      ...(sent !== undefined && { [settings.keyHeader]: sent }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  });
  if (response.ok && (method === 'HEAD' || typeOf(response) === type)) return response;
  if (response.ok) {
    await response.body?.cancel();
    throw new ApiError(response.status, '', NOT_OF_SERVICE);
  }
  const code = response.headers.get('x-error-code') ?? '';
  // The visitor may have entered another key meanwhile.
  if (response.status === 401 && key.value === sent) forgetKey();
  throw new ApiError(response.status, code, await errorText(response));
}

/** For answers whose numbers are small. Never for values of a result: `JSON.parse` would round them. */
export async function requestJson<T>(path: string, asked: ApiRequest = {}): Promise<T> {
  return (await (await request(path, asked)).json()) as T;
}

function typeOf({ headers }: Response): string | undefined {
  return headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
}

async function errorText(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { readonly error?: string };
    if (typeof error === 'string') return error;
  } catch {
    // Not an answer of the service; perhaps of a proxy in front of it.
  }
  return text.slice(0, 300) || `the service answered ${response.status}`;
}
