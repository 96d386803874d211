/**
 * Waiting for the lock of a SQLite file. SQLite's own `busy_timeout` sleeps on the thread. The service would then stop answering while a
 * command commits, and two catalogs open in one process would wait for each other for ever. So this sleeps without the thread, and then
 * asks SQLite again.
 */
import { NEVER, type Sleep } from '../../domain/time.ts';

/** Commits take milliseconds (a sync to disk). Whoever holds the lock for so long is stuck. */
const WAIT_MAX_MILLIS = 10_000;
const PAUSE_MAX_MILLIS = 20;
/** SQLite's primary result codes; the extended ones keep them in their low byte. */
const SQLITE_BUSY = 5;

/** The outcome of `attempt`, which is repeated while another connection holds the lock. @throws after ten seconds of that */
export async function whileBusy<T>(attempt: () => T, sleep: Sleep): Promise<T> {
  let waitedMillis = 0;
  for (let pauseMillis = 1; ; pauseMillis = Math.min(pauseMillis * 2, PAUSE_MAX_MILLIS)) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      if (waitedMillis >= WAIT_MAX_MILLIS) {
        throw new Error(`the catalog has been locked by another process for ${WAIT_MAX_MILLIS / 1000} seconds`, {
          cause: error,
        });
      }
    }
    await sleep(pauseMillis, NEVER);
    waitedMillis += pauseMillis;
  }
}

/** Whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return (
    error instanceof Error &&
    'errcode' in error &&
    typeof error.errcode === 'number' &&
    (error.errcode & 0xff) === SQLITE_BUSY
  );
}
