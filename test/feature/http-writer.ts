/** Requests that change something, as a client sends them. */
import assert from 'node:assert/strict';
import type { HttpService } from './http-service.ts';

export interface Sent {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Of an answer that is JSON. */
  readonly json: Readonly<Record<string, unknown>>;
}

export interface SendOptions {
  readonly key?: string;
  /** An object is sent as JSON, anything else as it is. */
  readonly body?: object | string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Send = (method: string, path: string, options?: SendOptions) => Promise<Sent>;

/** @param key the key unless another is given */
export function sender(service: Pick<HttpService, 'url'>, key: string): Send {
  return async (method, path, options = {}) => {
    const { body, headers } = options;
    const isJson = typeof body === 'object' && !(body instanceof Uint8Array);
    const response = await fetch(service.url + path, {
      method,
      redirect: 'manual',
      headers: {
        'x-service-api-key': options.key ?? key,
        ...(isJson && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: isJson ? JSON.stringify(body) : (body as string) }),
    });
    const text = await response.text();
    const json = response.headers.get('content-type')?.startsWith('application/json') && text !== '';
    return { status: response.status, headers: response.headers, text, json: json ? JSON.parse(text) : {} };
  };
}

/** A key of ann's that may write, and how to send with it. */
export async function annWrites(service: HttpService): Promise<{ readonly key: string; readonly send: Send }> {
  const key = await service.commandLine.get('keys', 'create', '--user', 'ann', '--scope', 'write');
  return { key, send: sender(service, key) };
}

/** The refusal has exactly this text and this code, and the shape of every error. */
export function assertRefused(sent: Sent, status: number, code: string, error: string | RegExp): void {
  assert.deepEqual([sent.status, sent.headers.get('x-error-code')], [status, code], sent.text);
  assert.equal(sent.headers.get('content-type'), 'application/json');
  assert.equal(sent.headers.get('cache-control'), 'no-store');
  if (typeof error === 'string') assert.equal(sent.json.error, error);
  else assert.match(String(sent.json.error), error);
}
