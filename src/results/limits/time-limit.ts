/** The time limit of a read: beyond it, the read ends with 504. A client that leaves is another matter. */
import { orAborted } from '../../domain/or-aborted.ts';
import { type Sleep, TimeLimit } from '../../domain/time.ts';
import { RequestError } from '../../errors/errors.ts';

/** Where a read may spill: a `DuckDb`. */
interface Spilling {
  use(signal: AbortSignal): Promise<{ readonly spilledBytes: number }>;
}

/** How long to wait for a busy DuckDB to say whether it spilled: the read does not go on longer than that. */
const LOOK_MILLIS_MAX = 1000;

export interface ReadLimit {
  readonly millisMax: number;
  /** How much of that time had passed before. */
  readonly waitedMillis?: number;
  /** Where the task reads. */
  readonly duckDb: Spilling;
  readonly sleep: Sleep;
}

/**
 * Runs `task` with a signal that also aborts after `millisMax`.
 * @throws RequestError read_timeout when the limit was what ended it; the signal's reason when that was
 */
export async function withinMillis<T>(
  { millisMax, waitedMillis = 0, duckDb, sleep }: ReadLimit,
  signal: AbortSignal,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  using limit = new TimeLimit(millisMax - waitedMillis, sleep);
  const end = new AbortController();
  let spilled = false;
  limit.signal.addEventListener('abort', async () => {
    // Before the read is ended, for then nothing is spilled any more.
    spilled = await isSpilled(duckDb, sleep);
    end.abort();
  });
  try {
    return await task(AbortSignal.any([signal, end.signal]));
  } catch (error) {
    signal.throwIfAborted();
    if (!end.signal.aborted) throw error;
    const exceeded = `the read exceeded its limit of ${millisMax / 1000} s`;
    throw new RequestError(
      'read_timeout',
      spilled
        ? `${exceeded}, in which memory was short and the disk had to serve for it; ask for fewer rows or columns, or when less is read at the same time`
        : `${exceeded}; ask for fewer rows or columns, or a simpler filter`,
    );
  }
}

async function isSpilled(duckDb: Spilling, sleep: Sleep): Promise<boolean> {
  using patience = new TimeLimit(LOOK_MILLIS_MAX, sleep);
  const use = await orAborted(duckDb.use(patience.signal), patience.signal).catch(() => undefined);
  return use !== undefined && use.spilledBytes > 0;
}
