/** What a request that changes something consists of, what its handler is given, and what it answers. */
import type { Readable } from 'node:stream';
import type { Catalog, CatalogSteps } from '../../catalog/catalog.ts';
import type { Clock } from '../../domain/instant.ts';
import type { Principal } from '../../domain/principal.ts';
import type { Scope } from '../../domain/scope.ts';
import type { RequestStats } from '../../observation/request-stats.ts';
import type { QueryParameters } from '../../results/request/query-string.ts';

export interface WriteAnswer {
  readonly status: number;
  readonly body: object;
  /** What is kept under an idempotency key, where that must be less than is answered: no secret is kept. */
  readonly kept?: object;
}

/**
 * Commits what the request changes and, under an idempotency key, its answer, all as one step. To be called at most once, last.
 * Others wait meanwhile to write, so nothing but the catalog may be waited for in it. Whose request it is has been looked up again in
 * the same step: a body takes its time, and a right that has gone meanwhile commits nothing.
 */
export type Commit = (
  work: (steps: CatalogSteps, principal: Principal) => Promise<WriteAnswer>,
) => Promise<WriteAnswer>;
/** What a commit is made of: one step, whoever takes it. */
export type CommitStep = (work: (steps: CatalogSteps) => Promise<WriteAnswer>) => Promise<WriteAnswer>;

export interface WriteRequest {
  /** As it was when the request began. */
  readonly principal: Principal;
  /** Of the route's pattern, by name. */
  readonly path: Readonly<Record<string, string>>;
  readonly parameters: QueryParameters;
  /** Of a header that is sent once; undefined where it was not. */
  readonly header: (name: string) => string | undefined;
  /** Scheme, host and prefix as the client used them. */
  readonly base: () => string;
  readonly stats: RequestStats;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  readonly commit: Commit;
}

/** Reads a small body of JSON: undefined where there is none. To be called before anything is committed. */
export type JsonHandler = (request: WriteRequest & { readonly body: () => Promise<unknown> }) => Promise<WriteAnswer>;
/** The body is of any size, and begins to flow when it is first read. */
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

export interface WriteDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
}
