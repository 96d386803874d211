/** Reads items side by side and hands the results out in their order. */

/**
 * @param ahead how many items are read, or wait to be taken, beyond the one that was handed out last
 * @param read its signal is aborted when the result is no longer wanted
 * @throws what `read` throws, when its turn comes; however this ends, no read goes on
 */
export async function* readAhead<T, R>(
  items: Iterable<T>,
  ahead: number,
  read: (item: T, signal: AbortSignal) => Promise<R>,
  signal: AbortSignal,
): AsyncGenerator<R> {
  const over = new AbortController();
  const within = AbortSignal.any([signal, over.signal]);
  const reading: Promise<R>[] = [];
  const begin = (item: T) => {
    const result = read(item, within);
    // A failure waits for its turn, and is not an unhandled rejection until then.
    result.catch(() => undefined);
    reading.push(result);
  };
  try {
    for (const item of items) {
      begin(item);
      if (reading.length > ahead) yield (await reading.shift()) as R;
    }
    for (let result = reading.shift(); result !== undefined; result = reading.shift()) yield await result;
  } finally {
    over.abort(new Error('nothing more is read'));
    await Promise.allSettled(reading);
  }
}

/** The same read, of which each begins when the one before has ended: where two together need more of something than there is. */
export function inTurn<T, R>(
  read: (item: T, signal: AbortSignal) => Promise<R>,
): (item: T, signal: AbortSignal) => Promise<R> {
  let last: Promise<unknown> = Promise.resolve();
  return async (item, signal) => {
    const result = last.then(async () => await read(item, signal));
    last = result.catch(() => undefined);
    return await result;
  };
}
