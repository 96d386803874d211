/** The types of a request that changes something: the request itself, what its handler is given, and its answer. */
import type { Readable } from 'node:stream';
import type { Catalog, CatalogTransaction } from '../../catalog/catalog.ts';
import type { Clock } from '../../domain/instant.ts';
import type { Principal } from '../../domain/principal.ts';
import type { Scope } from '../../domain/scope.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { QueryParameters } from '../../results/request/query-string.ts';

export interface WriteAnswer {
  readonly status: number;
  readonly body: object;
  /** Kept under an idempotency key instead of the answer, where the answer holds a secret. */
  readonly kept?: object;
}

/**
 * Commits the change and, under an idempotency key, its answer, in one transaction. A handler calls it once at most, as its
 * last step. Other writers wait during the transaction, so it may await nothing but the catalog. The transaction looks the
 * principal up again: a body takes time to arrive, and a right that was withdrawn in the meantime commits nothing.
 */
export type Commit = (
  work: (transaction: CatalogTransaction, principal: Principal) => Promise<WriteAnswer>,
) => Promise<WriteAnswer>;
/** Runs `work` in one transaction. */
export type CommitStep = (work: (transaction: CatalogTransaction) => Promise<WriteAnswer>) => Promise<WriteAnswer>;

export interface WriteRequest {
  /** As it was when the request began. */
  readonly principal: Principal;
  /** The values in the path, by their names in the route's pattern. */
  readonly path: Readonly<Record<string, string>>;
  readonly parameters: QueryParameters;
  /** The value of a header; undefined where it was not sent. A header that is sent twice counts as one, joined by a comma. */
  readonly header: (name: string) => string | undefined;
  /** Scheme, host and prefix as the client addressed the service. */
  readonly base: () => string;
  readonly stats: RequestStats;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  readonly commit: Commit;
}

/** A handler of small JSON bodies. `body` is undefined where none was sent, and must be read before the commit. */
export type JsonHandler = (request: WriteRequest & { readonly body: () => Promise<unknown> }) => Promise<WriteAnswer>;
/** A handler of bodies of any size. The body starts to flow when it is first read. */
export type StreamHandler = (request: WriteRequest & { readonly body: () => Readable }) => Promise<WriteAnswer>;

export interface WriteRoute {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the prefix: `/query/:id/archive`. */
  readonly path: string;
  readonly scope: Scope;
  readonly handler:
    | { readonly kind: 'json'; readonly handle: JsonHandler }
    | { readonly kind: 'stream'; readonly handle: StreamHandler };
}

/** A route of small JSON bodies. */
export function jsonWrite(method: WriteRoute['method'], path: string, scope: Scope, handle: JsonHandler): WriteRoute {
  return { method, path, scope, handler: { kind: 'json', handle } };
}

export interface WriteDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
}
