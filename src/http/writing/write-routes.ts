/**
 * Registers the routes that change something, and does what all of them share: checks the scope, receives the body, keeps
 * answers under idempotency keys, turns failures of the catalog into answers. The handlers are in the files beside this one.
 */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CatalogConflict, IllegalTransition, LeaseLost, QueryArchived } from '../../catalog/catalog.ts';
import { formatState } from '../../domain/execution.ts';
import type { Principal } from '../../domain/principal.ts';
import type { Sleep } from '../../domain/time.ts';
import { RequestError } from '../../errors/errors.ts';
import { parseQueryString } from '../../results/request/query-string.ts';
import { principalOf, queryStringOf } from '../authenticate.ts';
import { clientUrlOf } from '../client-url.ts';
import { goneSignal } from '../gone-signal.ts';
import { currentPrincipal, requireScope } from './authorize.ts';
import { ContentDigest } from './content-digest.ts';
import { answerOnce, type IdempotencyDeps } from './idempotency.ts';
import { JSON_BYTES_MAX, readJsonBody } from './json-body.ts';
import { LineEnds } from './line-ends.ts';
import { type BodyLimits, type BodyObserver, receivedBody } from './received-body.ts';
import type { Commit, CommitStep, WriteAnswer, WriteRequest, WriteRoute } from './write-request.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The handler reads the body itself. Where it does not, a body is thrown away. */
    readonly readsBody?: boolean;
  }
}

/** A JSON body is small: all of it must arrive within this many times the longest pause. */
const JSON_STALLS = 3;

export interface WriteRoutesOptions {
  /** Scheme and host of addresses in answers; undefined: those by which the client addressed the service. */
  readonly publicUrl: string | undefined;
  /** Limits of bodies that are results. */
  readonly results: Omit<BodyLimits, 'sleep'>;
  /** The longest pause in a JSON body. */
  readonly jsonStalledMillis: number;
  readonly sleep: Sleep;
}

export type RegisterWrite = (route: WriteRoute) => void;

/** @returns registers a route under the prefix */
export function writeRoutes(
  server: FastifyInstance,
  prefix: string,
  deps: IdempotencyDeps,
  options: WriteRoutesOptions,
): RegisterWrite {
  return (route) =>
    server.route({
      method: route.method,
      url: prefix + route.path,
      config: { readsBody: true },
      handler: async (request, reply) => {
        const principal = principalOf(request);
        requireScope(principal, route.scope);
        const hash = createHash('sha256').update(headOf(request));
        const ends = lineEndsOf(route, request);
        const observers = [hash, ...(ends === undefined ? [] : [ends])];
        using body = new RequestBody(() => openBody(request, reply, observers, limitsOf(route, options)));
        const asked = { ...fieldsOf(request, reply, principal), base: () => baseOf(request, options) + prefix };
        const once = {
          keyId: principal.keyId,
          header: asked.header('idempotency-key'),
          fingerprint: () => (body.isRead ? hash.copy().digest('hex') : undefined),
          readBody: () => body.discard(),
        };
        const answer = await explainLostLease(() =>
          answerOnce(once, deps, (step) => {
            const commit = committingAs(principal, route, step, deps);
            return explainFailures(() => handle(route, { ...asked, commit }, body), ends);
          }),
        );
        if (answer.replayed) reply.header('idempotency-replayed', 'true');
        return reply
          .code(answer.status)
          .header('cache-control', 'no-store')
          .header('content-type', 'application/json')
          .send(Buffer.from(answer.body));
      },
    });
}

/** @returns a commit that first checks what the key may do at that moment */
function committingAs(
  { keyId }: Principal,
  { scope }: WriteRoute,
  step: CommitStep,
  { clock }: Pick<IdempotencyDeps, 'clock'>,
): Commit {
  return (work) =>
    step(async (transaction) => {
      const principal = await currentPrincipal(transaction, keyId, clock());
      requireScope(principal, scope);
      return await work(transaction, principal);
    });
}

/** The body of a request. Whoever reads it opens it, once. A request that is refused before that never reads its body. */
class RequestBody implements Disposable {
  readonly #open: () => Readable;
  #body: Readable | undefined;

  constructor(open: () => Readable) {
    this.#open = open;
  }

  /** Whether all of it has arrived. */
  get isRead(): boolean {
    return this.#body?.readableEnded === true;
  }

  open(): Readable {
    this.#body ??= this.#open();
    return this.#body;
  }

  async discard(): Promise<void> {
    await finished(this.open().resume());
  }

  /** A body that was opened and then not read would keep its connection from the next request. */
  [Symbol.dispose](): void {
    this.#body?.destroy();
  }
}

function limitsOf({ handler }: WriteRoute, { results, jsonStalledMillis, sleep }: WriteRoutesOptions): BodyLimits {
  if (handler.kind === 'stream') return { ...results, sleep };
  const wholeMillis = JSON_STALLS * jsonStalledMillis;
  return { bytesMax: JSON_BYTES_MAX, stalledMillis: jsonStalledMillis, wholeMillis, sleep };
}

async function handle({ handler }: WriteRoute, asked: WriteRequest, body: RequestBody): Promise<WriteAnswer> {
  switch (handler.kind) {
    case 'json':
      return await handler.handle({
        ...asked,
        body: () => readJsonBody(body.open(), asked.header('content-encoding')),
      });
    case 'stream':
      return await handler.handle({ ...asked, body: () => body.open() });
    default:
      return handler satisfies never;
  }
}

function openBody(
  { raw, headers }: FastifyRequest,
  reply: FastifyReply,
  observers: readonly BodyObserver[],
  limits: BodyLimits,
): Readable {
  const digest = new ContentDigest(oneOf(headers['content-digest']));
  return receivedBody(raw, reply.raw, limits, [digest, ...observers]);
}

function lineEndsOf({ handler }: WriteRoute, { headers }: FastifyRequest): LineEnds | undefined {
  return handler.kind === 'stream' && LineEnds.isNeeded(headers) ? new LineEnds() : undefined;
}

function fieldsOf(
  request: FastifyRequest,
  reply: FastifyReply,
  principal: Principal,
): Omit<WriteRequest, 'base' | 'commit'> {
  return {
    principal,
    path: request.params as Readonly<Record<string, string>>,
    parameters: parseQueryString(queryStringOf(request)),
    header: (name) => oneOf(request.headers[name]),
    stats: request.stats,
    signal: goneSignal(reply),
  };
}

function baseOf(request: FastifyRequest, { publicUrl }: WriteRoutesOptions): string {
  return publicUrl ?? clientUrlOf(request);
}

/** What the answer depends on besides the body. A key in the address does not count. */
function headOf({ method, url, headers }: FastifyRequest): string {
  const address = url.replace(/(?<=[?&])api_key=[^&]*&?/, '').replace(/[?&]$/, '');
  return JSON.stringify([method, address, headers['content-type'], headers['content-encoding']]);
}

/** A header that is sent twice counts as one, joined by a comma. */
function oneOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(', ') : value;
}

/** Turns an error of the catalog into an answer like any other, and says what may have become of a body. */
async function explainFailures(work: () => Promise<WriteAnswer>, ends: LineEnds | undefined): Promise<WriteAnswer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof QueryArchived) throw new RequestError('query_not_runnable', error.message);
    if (error instanceof CatalogConflict) throw new RequestError('conflict', error.message);
    if (error instanceof IllegalTransition && error.from !== undefined) {
      throw new RequestError('illegal_transition', error.message, { body: { state: formatState(error.from) } });
    }
    throw ends?.explain(error) ?? error;
  }
}

/** Reports a lost lease, of the work or of its idempotency key, as a passing error. Its answer is never kept. */
async function explainLostLease<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    const message = 'another process has taken this work over; nothing was changed here, ask again for its answer';
    throw new RequestError('taken_over', message);
  }
}
