/** The time limit of a read (→ 504), apart from the client's own giving up. */
import { RequestError } from '../../errors/errors.ts';

/** Where a read may spill: a `DuckDb`. */
interface Spilling {
  use(signal: AbortSignal): Promise<{ readonly spilledBytes: number }>;
}

/** A busy DuckDB does not keep a read going longer. */
const LOOK_MILLIS_MAX = 1000;

/**
 * Runs `task` with a signal that also aborts after `millisMax`.
 * @param duckDb where the task reads
 * @throws RequestError read_timeout when the limit was what ended it; the signal's reason when that was
 */
export async function withinMillis<T>(
  millisMax: number,
  duckDb: Spilling,
  signal: AbortSignal,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  let spilled = false;
  const look = setTimeout(async () => {
    // Before the read is ended, for then nothing is spilled any more.
    spilled = await isSpilled(duckDb);
    limit.abort();
  }, millisMax);
  const end = setTimeout(() => limit.abort(), millisMax + LOOK_MILLIS_MAX);
  try {
    return await task(AbortSignal.any([signal, limit.signal]));
  } catch (error) {
    signal.throwIfAborted();
    if (!limit.signal.aborted) throw error;
    const exceeded = `the read exceeded its limit of ${millisMax / 1000} s`;
    throw new RequestError(
      'read_timeout',
      spilled
        ? `${exceeded}, in which memory was short and the disk had to serve for it; ask for fewer rows or columns, or when less is read at the same time`
        : `${exceeded}; ask for fewer rows or columns, or a simpler filter`,
    );
  } finally {
    clearTimeout(look);
    clearTimeout(end);
  }
}

async function isSpilled(duckDb: Spilling): Promise<boolean> {
  const use = await duckDb.use(AbortSignal.timeout(LOOK_MILLIS_MAX)).catch(() => undefined);
  return use !== undefined && use.spilledBytes > 0;
}
