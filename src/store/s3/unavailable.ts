/** Tells failures of an S3 server that may pass, though all retries failed, from all others. */
import { StoreUnavailable } from '../../errors/store-unavailable.ts';

interface S3Failure {
  readonly name?: string;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** Nothing is stored under the key. */
export function isNoObject(error: unknown): boolean {
  return statusOf(error) === 404;
}

/** The failure as callers are told it: StoreUnavailable if it may pass, else as it is. @param signal whose abort is no failure of the server */
export function told(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const status = statusOf(error);
  // The server refused: settings or permissions are wrong, and waiting does not help.
  if (status !== undefined && status < 500 && status !== 429) return error;
  if (status === undefined && !isOfTheConnection(error)) return error;
  return new StoreUnavailable('the store of results cannot be reached at the moment', { cause: error });
}

function statusOf(error: unknown): number | undefined {
  return (error as S3Failure | undefined)?.$metadata?.httpStatusCode;
}

function isOfTheConnection(error: unknown): boolean {
  const { name, code } = (error ?? {}) as S3Failure;
  const isSocket = typeof code === 'string' && /^E[A-Z]+$/.test(code) && code !== 'ENOENT' && code !== 'ENOSPC';
  return isSocket || name === 'TimeoutError' || name === 'RequestTimeout' || name === 'AbortError';
}
