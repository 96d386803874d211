/** One piece of work for everybody who asks for it, whenever they ask. */

/** The same outcome for all callers; work that failed is done again for the next. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    if (running === undefined) {
      const current = work();
      running = current;
      current.catch(() => {
        if (running === current) running = undefined;
      });
    }
    return running;
  };
}
