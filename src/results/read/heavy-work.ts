/**
 * Making something of stored results that is then read: a view, a difference, what a share shows. That is heavy work, which the limiter
 * admits. It may also take longer than the sweep waits for reads without a lease, so the results are leased meanwhile. To read what is
 * made already is neither.
 */
import type { ReadLeases } from '../../leases/read-leases.ts';
import type { ConcurrencyLimiter } from '../limits/concurrency-limiter.ts';

interface HeavyWorkDeps {
  readonly limiter: Pick<ConcurrencyLimiter, 'acquire'>;
  readonly leases: Pick<ReadLeases, 'hold'>;
}

/** Of which results it is made, and for which key. */
export interface HeavyWork {
  readonly executionIds: readonly string[];
  readonly keyId: string;
}

/** @throws RequestError rate_limited · overloaded · execution_not_found; what `make` throws; the signal's reason */
export async function asHeavyWork<T>(
  { executionIds, keyId }: HeavyWork,
  { limiter, leases }: HeavyWorkDeps,
  signal: AbortSignal,
  make: () => Promise<T>,
): Promise<T> {
  using _ = await limiter.acquire(keyId, signal);
  await using held = new AsyncDisposableStack();
  for (const executionId of executionIds) held.use(await leases.hold(executionId));
  return await make();
}
