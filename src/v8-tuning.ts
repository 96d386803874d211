/** What keeps V8 quick in a service that runs for weeks. Process-wide, so only main.ts calls it. */
import { executionAsyncResource } from 'node:async_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** One object as `process.nextTick` makes them, so that there is always one. */
const ticks: object[] = [];

/** @returns what is kept alive, complete after the next tick */
export function tuneV8(): readonly object[] {
  // The bytes of answers pass through as if the heap, which is small, had grown; each full page would then be followed by a
  // garbage collection, which takes half as long as the page.
  setFlagsFromString('--heap-growing-percent=300');
  // What a request leaves behind is dead when it is collected: waking other threads to help takes longer than the work.
  setFlagsFromString('--no-parallel-scavenge');
  // So that native-results.ts can ask for a collection of what is young.
  setFlagsFromString('--expose-gc');
  globalThis.gc ??= runInNewContext('gc');
  // A garbage collection that meets no such object forgets what they look like, and V8 never optimises making them again: each
  // tick then costs five times as much for the rest of the process's life, and a small page a quarter more.
  process.nextTick(() => {
    ticks[0] ??= executionAsyncResource();
  });
  return ticks;
}
