/** Checks every stored object that a result needs against its checksum. Reads all bytes; deletes and mends nothing. */
import type { Catalog } from '../catalog/catalog.ts';
import { objectsOf } from '../domain/result-set.ts';
import { ObjectDamaged, type ResultStore } from '../store/result-store.ts';
import { storedResults } from './stored-results.ts';

export interface VerifyDependencies {
  readonly catalog: Pick<Catalog, 'executions'>;
  readonly store: ResultStore;
}

export interface Verified {
  readonly executionId: string;
  readonly key: string;
  /** What is wrong with the object; absent when nothing is. */
  readonly problem?: string;
}

/** @throws the signal's reason once it is aborted, or the store's error when it cannot be read at all. */
export async function* verify(
  { catalog, store }: VerifyDependencies,
  signal: AbortSignal,
): AsyncGenerator<Verified, void, undefined> {
  for await (const { id: executionId, resultSet } of storedResults(catalog.executions)) {
    for (const part of objectsOf(resultSet)) {
      const { key } = part;
      try {
        await store.verify(part, signal);
        yield { executionId, key };
      } catch (error) {
        if (!(error instanceof ObjectDamaged)) throw error;
        // Expired and swept since the manifest was read: not damaged, just gone.
        if (!(await catalog.executions.hasResultSet(executionId))) continue;
        yield { executionId, key, problem: error.message };
      }
    }
  }
}
