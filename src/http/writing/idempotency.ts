/**
 * `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a request that is sent again under the same key is carried out
 * once and gets the same answer again. One process at a time carries out a key's request; it holds a lease, which expires if
 * the process dies. The change and its answer are committed together, so a key without an answer means that nothing was done.
 */
import { createHash } from 'node:crypto';
import type { KeptAnswer, NewKeptAnswer } from '../../domain/kept-answer.ts';
import { idempotencyResource } from '../../domain/lease-names.ts';
import { IDEMPOTENCY_KEPT_MILLIS } from '../../domain/retention.ts';
import { shortened } from '../../domain/shortened.ts';
import { type ErrorCode, RequestError } from '../../errors/errors.ts';
import { KeptLease, type LeaseOptions } from '../../leases/kept-lease.ts';
import { isLeaseOwnerDead } from '../../leases/lease-owner.ts';
import type { CommitStep, WriteAnswer, WriteDeps } from './write-request.ts';

export interface IdempotencyDeps extends WriteDeps {
  readonly leases: LeaseOptions;
}

export interface IdempotentRequest {
  readonly keyId: string;
  /** The header's value; undefined: the request is carried out every time. */
  readonly header: string | undefined;
  /** Of the whole request with its body; undefined while the body has not been read. */
  readonly fingerprint: () => string | undefined;
  /** Reads the rest of the body. Called when the request is not carried out again. */
  readonly readBody: () => Promise<void>;
}

export interface IdempotentAnswer {
  readonly status: number;
  readonly body: string;
  readonly replayed: boolean;
}

const NAME_LENGTH_MAX = 255;
/** The most characters that are kept of an error's text, which may quote what the client sent. */
const ERROR_LENGTH_MAX = 2000;

/**
 * @throws RequestError invalid_idempotency_key · idempotency_in_progress · idempotency_mismatch, and whatever the work throws.
 *   Answers with a 4xx status are kept, too.
 */
export async function answerOnce(
  request: IdempotentRequest,
  deps: IdempotencyDeps,
  work: (commit: CommitStep) => Promise<WriteAnswer>,
): Promise<IdempotentAnswer> {
  const { catalog } = deps;
  if (request.header === undefined) return written(await work((steps) => catalog.atomically(steps)));
  const name = readName(request.header);
  await using lease = await acquire(request.keyId, name, deps);
  // By the catalog's clock: to a host whose own is days ahead, each answer would seem to be too old.
  const after = (await catalog.now()) - IDEMPOTENCY_KEPT_MILLIS;
  const kept = await catalog.idempotencyKeys.find(request.keyId, name, after);
  if (kept !== undefined) return await replay(kept, request);
  const keeping = (answer: Pick<IdempotentAnswer, 'status' | 'body'>): NewKeptAnswer => ({
    keyId: request.keyId,
    name,
    fingerprint: request.fingerprint() ?? '',
    status: answer.status,
    body: answer.body,
  });
  const commit: CommitStep = (steps) =>
    catalog.atomically(async (all) => {
      const answer = await steps(all);
      await all.idempotencyKeys.keep(keeping(written({ ...answer, body: answer.kept ?? answer.body })), lease.current);
      return answer;
    });
  try {
    return written(await work(commit));
  } catch (error) {
    if (error instanceof RequestError && isKept(error) && request.fingerprint() !== undefined) {
      await catalog.idempotencyKeys.keep(keeping(writtenError(error)), lease.current);
    }
    throw error;
  }
}

async function acquire(keyId: string, name: string, { leases }: IdempotencyDeps): Promise<KeptLease> {
  const resource = idempotencyResource(keyId, createHash('sha256').update(name).digest('hex'));
  const take = () => KeptLease.acquire(resource, { during: 'while answering', onError: () => undefined }, leases);
  const lease = (await take()) ?? ((await endOfDead(resource, leases)) ? await take() : undefined);
  if (lease !== undefined) return lease;
  throw new RequestError(
    'idempotency_in_progress',
    `Idempotency-Key: the first request under "${name}" is still being carried out; ask again for its answer`,
  );
}

/** Ends the lease if its owner is dead. @returns whether it was ended */
async function endOfDead(resource: string, { catalog }: LeaseOptions): Promise<boolean> {
  const dead = (await catalog.leases.list(resource)).find(({ owner }) => isLeaseOwnerDead(owner));
  return dead !== undefined && (await catalog.leases.revoke(dead));
}

async function replay(kept: KeptAnswer, request: IdempotentRequest): Promise<IdempotentAnswer> {
  await request.readBody();
  if (kept.fingerprint === request.fingerprint()) {
    if (kept.status < 400) return { status: kept.status, body: kept.body, replayed: true };
    const { code, error, body } = JSON.parse(kept.body) as KeptError;
    throw new RequestError(code, error, { body });
  }
  throw new RequestError(
    'idempotency_mismatch',
    `Idempotency-Key: "${kept.name}" was sent before with another request; send another key with this one`,
  );
}

/**
 * Whether the same request would fail in the same way again. Passing errors are not kept, nor those of a body that was cut off. How large a
 * body may be can depend on the disk that is free.
 */
function isKept({ code, status }: RequestError): boolean {
  const isPassing = status >= 500 || status === 408 || status === 413 || status === 429;
  return !isPassing && code !== 'digest_mismatch' && code !== 'idempotency_mismatch';
}

function written(answer: WriteAnswer): IdempotentAnswer {
  return { status: answer.status, body: JSON.stringify(answer.body), replayed: false };
}

interface KeptError {
  readonly code: ErrorCode;
  readonly error: string;
  readonly body: Readonly<Record<string, unknown>>;
}

function writtenError({ code, message, body, status }: RequestError): Pick<IdempotentAnswer, 'status' | 'body'> {
  const kept: KeptError = { code, error: shortened(message, ERROR_LENGTH_MAX), body };
  return { status, body: JSON.stringify(kept) };
}

/** The draft wants a quoted string; many clients send the key without quotes. @throws RequestError invalid_idempotency_key */
function readName(header: string): string {
  const [, quoted] = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/.exec(header.trim()) ?? [];
  const name = quoted?.replaceAll(/\\(["\\])/g, '$1') ?? header.trim();
  if (/^[\x21-\x7e]+$/.test(name) || (quoted !== undefined && name !== '')) {
    if (name.length <= NAME_LENGTH_MAX) return name;
  }
  throw new RequestError(
    'invalid_idempotency_key',
    `Idempotency-Key: found "${shortened(header, 60)}", expected 1 to ${NAME_LENGTH_MAX} printable characters, as in "8e03978e-40d5-43dd-bc93-6894a57f9324"`,
  );
}
