/**
 * The shape of every failure (contract §4): compact JSON with `error`, a stable code in X-Error-Code, nothing else. No cache may
 * keep it: what is an error to one key is an answer to another. A text may quote what was sent, but never a key (contract §1).
 */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { withoutKeys } from '../domain/key.ts';
import { CatalogUnavailable } from '../errors/catalog-unavailable.ts';
import { RequestError } from '../errors/errors.ts';
import { isStorageFull } from '../errors/storage-full.ts';
import { StoreUnavailable } from '../errors/store-unavailable.ts';
import { hasCode } from '../errors/system-code.ts';
import { TextRefused } from '../errors/text-refused.ts';
import { WorkspaceUnavailable } from '../errors/workspace-unavailable.ts';
import { isClientGone } from '../results/limits/client-gone.ts';
import { unsupported } from './writing/body-description.ts';

export type OnFault = (fault: { readonly requestId: string; readonly error: unknown }) => void;

export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  onFault: OnFault,
): FastifyReply {
  const answer = isUnreadableType(error) ? unreadableType(request) : toRequestError(error, request.id);
  request.stats.errorCode = answer.code;
  // Rows may have been found before a check that follows them has failed, such as that of a range.
  request.stats.clearCounts();
  // What was found in memory was not sent, and an error is not kept in its place.
  request.reusable = undefined;
  if (isFault(answer) && !isClientGone(error) && !wasLeft(error, reply)) onFault({ requestId: request.id, error });
  for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name);
  if (answer.retryAfterSeconds !== undefined) reply.header('retry-after', String(answer.retryAfterSeconds));
  return reply
    .code(answer.status)
    .headers(answer.headers)
    .header('x-error-code', answer.code)
    .header('cache-control', 'no-store')
    .header('content-type', 'application/json')
    .send(Buffer.from(JSON.stringify({ error: withoutKeys(answer.message), ...answer.body })));
}

/** Whether Fastify could not read the `Content-Type`, which it says in three words. */
function isUnreadableType(error: unknown): boolean {
  return hasCode(error, 'FST_ERR_CTP_INVALID_MEDIA_TYPE');
}

function unreadableType({ headers }: FastifyRequest): RequestError {
  return unsupported('Content-Type', headers['content-type'] ?? '', 'a type and a subtype, as in text/csv, or none');
}

/** Whether an answer has no reader any more: its stream was closed with the connection, which Node tells as an error of the stream. */
function wasLeft(error: unknown, { raw }: FastifyReply): boolean {
  return raw.destroyed && hasCode(error, 'ERR_STREAM_PREMATURE_CLOSE');
}

/** Faults: errors that only we can mend. A time limit or too much work is told to the client and is no fault. */
export function isFault(answer: RequestError): boolean {
  return answer.status === 500 || answer.code === 'storage_full' || answer.code === 'workspace_unavailable';
}

export function toRequestError(error: unknown, requestId: string): RequestError {
  if (error instanceof RequestError) return error;
  if (isStorageFull(error)) {
    return new RequestError(
      'storage_full',
      'a disk of the service is full; ask for less, or try again when there is room',
    );
  }
  if (error instanceof WorkspaceUnavailable) {
    return new RequestError(
      'workspace_unavailable',
      'a folder of the service that this needs cannot be used; try again when that is mended, or ask for less, or for JSON or CSV, which may do without it',
    );
  }
  if (error instanceof CatalogUnavailable) return new RequestError('catalog_unavailable', error.message);
  if (error instanceof TextRefused) return new RequestError('bad_request', error.message);
  if (error instanceof StoreUnavailable) return new RequestError('store_unavailable', error.message);
  if (isOutOfFiles(error)) {
    return new RequestError('overloaded', 'the service has as many files and connections open as it may; try again');
  }
  const status = error instanceof Error ? ((error as Partial<FastifyError>).statusCode ?? 500) : 500;
  // Fastify's own refusals, such as an address too long, say what is wrong with the request.
  if (status >= 400 && status < 500) return new RequestError('bad_request', (error as Error).message);
  return new RequestError('internal', `internal error, request id ${requestId}`);
}

/** Whether the process may open no further file, as the system says it or DuckDB. */
function isOutOfFiles(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && (cause.code === 'EMFILE' || cause.code === 'ENFILE')) return true;
    if (/Too many open files/i.test(cause.message)) return true;
  }
  return false;
}
