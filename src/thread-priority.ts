/**
 * Threads that compute give way to the event loop. Where there is more to compute than cores, the system gives each thread its turn, and
 * the event loop, on which all requests wait, would be one of twenty. With this it is late by less: half of the median, two thirds of p99,
 * in 14 turns of 8 s with and without, 32 clients, two cores that others wanted, too.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';

/** As `nice` counts, below the process itself: a third of the share of the core that others have who want it, too. */
const COMPUTING = 5;
const TASKS = '/proc/self/task';
/** Those of the pool, on which DuckDB runs. What they start, such as DuckDB's own threads, inherits their priority. */
const POOL = 'libuv-worker';

/** Lowers the pool's threads; nothing happens where the system does not name them. The pool is there once a file was read. */
export function letEventLoopFirst(): void {
  for (const thread of threadsNamed(POOL)) {
    try {
      setPriority(thread, lowered());
    } catch {
      // It has ended, or the system does not want it.
    }
  }
}

/** A whole process that gives way to a service on the same machine. Before it has begun to compute: threads inherit it. */
export function letServiceFirst(): void {
  try {
    setPriority(lowered());
  } catch {
    // Then it does not.
  }
}

/** From wherever the process was started with: `nice`, or systemd's `Nice=`. */
function lowered(): number {
  return Math.min(constants.priority.PRIORITY_LOW, getPriority() + COMPUTING);
}

function threadsNamed(name: string): readonly number[] {
  return entriesOf(TASKS)
    .filter((thread) => nameOf(thread) === name)
    .map(Number);
}

/** None where there is no such folder, as on other systems. */
function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Undefined where it has ended meanwhile. */
function nameOf(thread: string): string | undefined {
  try {
    return readFileSync(`${TASKS}/${thread}/comm`, 'utf8').trim();
  } catch {
    return undefined;
  }
}
