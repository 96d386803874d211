/**
 * Keeps the sweep away from what is being read: a long read holds a lease on its execution, renewed while it goes on,
 * in the catalog, because the sweep may run in another process. Reads of one chunk need none: a file that is open stays
 * readable after it was deleted.
 */
import type { Catalog } from '../catalog/catalog.ts';
import { readResource } from '../domain/lease-names.ts';
import { RequestError } from '../errors/errors.ts';
import { KeptLease, type LeaseOptions } from './kept-lease.ts';

export interface ReadLeasesOptions extends LeaseOptions {
  readonly catalog: Pick<Catalog, 'executions' | 'leases'>;
  readonly newId: () => string;
  /** Does what needs a commit; where a full disk takes none, once more after room was made. */
  readonly inRoom?: <T>(work: () => Promise<T>) => Promise<T>;
  /** Told when a lease could not be renewed or given back. */
  readonly onError: (error: unknown) => void;
}

export class ReadLeases {
  readonly #options: ReadLeasesOptions;

  constructor(options: ReadLeasesOptions) {
    this.#options = options;
  }

  /**
   * Holds a lease until it is disposed of.
   * @throws RequestError execution_not_found when the result was swept before the lease was held: only a look at the catalog
   *   after taking it can tell, since the sweep looks for leases before it takes the result out of the catalog
   */
  async hold(executionId: string): Promise<AsyncDisposable> {
    const { catalog, newId, inRoom, onError } = this.#options;
    const resource = readResource(executionId, newId());
    const acquire = () => KeptLease.acquire(resource, { during: 'while reading', onError }, this.#options);
    const lease = inRoom === undefined ? await acquire() : await inRoom(acquire);
    await using taken = new AsyncDisposableStack();
    if (lease !== undefined) taken.use(lease);
    if (!(await catalog.executions.hasResultSet(executionId))) {
      throw new RequestError('execution_not_found', `The requested execution ID (ID ${executionId}) was not found.`);
    }
    return taken.move();
  }

  /** The same chunks, with a lease held from before the first until after the last, or until the reader gives up. */
  async *during<T>(executionId: string, chunks: AsyncIterable<T>): AsyncGenerator<T> {
    yield* holding(await this.hold(executionId), chunks);
  }
}

/** The same chunks; what is held is given back after the last, or when the reader gives up. */
export async function* holding<T>(held: AsyncDisposable, chunks: AsyncIterable<T>): AsyncGenerator<T> {
  await using _ = held;
  yield* chunks;
}
