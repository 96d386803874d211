/**
 * Keeps the sweep away from what is being read: a long read holds a lease on its execution, renewed while it goes on,
 * in the catalog, because the sweep may run in another process. Reads of one chunk need none: a file that is open stays
 * readable after it was deleted.
 */
import type { Catalog, Lease } from '../catalog/catalog.ts';
import type { Clock } from '../domain/instant.ts';
import { RequestError } from '../errors/errors.ts';

export interface ReadLeasesOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly owner: string;
  readonly durationMillis: number;
  readonly newId: () => string;
  /** Told when a lease could not be renewed. */
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
    const { catalog, clock, owner, durationMillis, newId, onError } = this.#options;
    let lease: Lease | undefined = await catalog.leases.acquire(
      `read:${executionId}:${newId()}`,
      owner,
      clock(),
      durationMillis,
    );
    const renew = async () => {
      if (lease !== undefined) lease = (await catalog.leases.renew(lease, clock(), durationMillis)) ?? lease;
    };
    const timer = setInterval(() => void renew().catch(onError), durationMillis / 3);
    const release = async () => {
      clearInterval(timer);
      if (lease !== undefined) await catalog.leases.release(lease).catch(onError);
    };
    try {
      if (!(await catalog.executions.hasResultSet(executionId))) {
        throw new RequestError('execution_not_found', `The requested execution ID (ID ${executionId}) was not found.`);
      }
    } catch (error) {
      await release();
      throw error;
    }
    return { [Symbol.asyncDispose]: release };
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
