/** Waiting for what a signal may end. */

/**
 * Waits no longer than the signal allows. What is waited for goes on; whoever started it ends it.
 * @throws the signal's reason when it aborts before the promise is settled
 */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Waits for the end of work that the signal aborts, and that says of itself only that it was aborted. @throws the signal's reason once it is */
export async function endedBy<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}
