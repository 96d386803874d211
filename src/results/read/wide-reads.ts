/**
 * Reads of many columns. Such a read takes up to 40 KB of memory for each column, however few its rows. With 5,000 columns, two
 * at a time do not fit, and the DuckDB that reads ranges has no room even for one. So wide reads go one at a time to the
 * instance with more memory. They wait for each other before they take a place in a queue, so that others can use the queue.
 */
import type { Queue } from '../limits/work-queue.ts';
import type { PartReaderDeps } from './read-parts.ts';

const WIDE_COLUMNS_MIN = 500;

export interface WideReads {
  /** One read at a time. */
  readonly wideReads: Queue;
}

/** The dependencies of a reader of so many columns. */
export function depsFor(columnCount: number, deps: PartReaderDeps & WideReads): PartReaderDeps {
  if (columnCount < WIDE_COLUMNS_MIN) return deps;
  const after = (queue: Queue) => inBoth(deps.wideReads, queue);
  const { pageTurns, searches, exports } = deps;
  const queues = { pageTurns: after(pageTurns), searches: after(searches), exports: after(exports) };
  return { ...deps, ...queues, rangeReader: deps.scanner };
}

function inBoth(first: Queue, second: Queue): Queue {
  return {
    run: (key, task, signal) => first.run(key, () => second.run(key, task, signal), signal),
    get running() {
      return second.running;
    },
  };
}
