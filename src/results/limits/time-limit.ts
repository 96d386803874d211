/** The time limit of a read (→ 504), apart from the client's own giving up. */
import { RequestError } from '../../errors/errors.ts';

/**
 * Runs `task` with a signal that also aborts after `millisMax`.
 * @throws RequestError read_timeout when the limit was what ended it; the signal's reason when that was
 */
export async function withinMillis<T>(
  millisMax: number,
  signal: AbortSignal,
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = AbortSignal.timeout(millisMax);
  try {
    return await task(AbortSignal.any([signal, timeout]));
  } catch (error) {
    signal.throwIfAborted();
    if (!timeout.aborted) throw error;
    throw new RequestError(
      'read_timeout',
      `the read exceeded its limit of ${millisMax / 1000} s; ask for fewer rows or columns, or a simpler filter`,
    );
  }
}
