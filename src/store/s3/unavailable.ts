/** Tells failures of an S3 server that may pass, though all retries failed, from all others. */
import { StoreUnavailable } from '../../errors/store-unavailable.ts';

interface S3Failure {
  readonly name?: string;
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** What servers say with a status below 500 although asking again helps. */
const PASSING: ReadonlySet<unknown> = new Set(['RequestTimeout', 'SlowDown', 'Throttling', 'ThrottlingException']);

/** Nothing is stored under the key. A bucket that is gone is another matter: its objects are not what is missing. */
export function isNoObject(error: unknown): boolean {
  return statusOf(error) === 404 && !isNoBucket(error);
}

/** Something is there already, or an upload has come to its end before: by an attempt whose answer was lost, or by somebody else. */
export function mayBeThere(error: unknown): boolean {
  return statusOf(error) === 412 || (error as S3Failure | undefined)?.name === 'NoSuchUpload';
}

/** Put if nothing is there: somebody else is just putting something. */
export function isConflict(error: unknown): boolean {
  return statusOf(error) === 409;
}

/** The server does not know what is asked of it. */
export function isNotImplemented(error: unknown): boolean {
  return statusOf(error) === 501;
}

function isNoBucket(error: unknown): boolean {
  return (error as S3Failure | undefined)?.name === 'NoSuchBucket';
}

/** The failure as callers are told it: StoreUnavailable if it may pass, else as it is. @param signal whose abort is no failure of the server */
export function asUnavailable(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const status = statusOf(error);
  if (PASSING.has((error as S3Failure | undefined)?.name)) return unavailable(error);
  if (isNoBucket(error)) return new StoreUnavailable('the bucket of the store is not there', { cause: error });
  // Refused: settings or permissions are wrong, which waiting does not mend.
  if (status !== undefined && status < 500 && status !== 429) return error;
  if (isNotImplemented(error)) return error;
  if (status === undefined && !isOfTheConnection(error)) return error;
  return unavailable(error);
}

function unavailable(cause: unknown): StoreUnavailable {
  return new StoreUnavailable('the store of results cannot be reached at the moment', { cause });
}

function statusOf(error: unknown): number | undefined {
  return (error as S3Failure | undefined)?.$metadata?.httpStatusCode;
}

function isOfTheConnection(error: unknown): boolean {
  const { name, code } = (error ?? {}) as S3Failure;
  // EAI_AGAIN and its like: a name server is away.
  const isSocket = typeof code === 'string' && /^E(?:AI_)?[A-Z]+$/.test(code) && code !== 'ENOENT' && code !== 'ENOSPC';
  return isSocket || name === 'TimeoutError' || name === 'RequestTimeout' || name === 'AbortError';
}
