/**
 * Keeps one of the objects that `process.nextTick` makes alive. A garbage collection that finds none of them discards what V8 has learned
 * about their allocation, for the rest of the process's life: a tick then takes 0.4 µs instead of 0.07, and a page from the response
 * cache 1.16 times the CPU (median of 100 pairs of turns).
 */
import { executionAsyncResource } from 'node:async_hooks';

const ticks: object[] = [];

/** @returns what is kept: complete after the next tick */
export function keepTick(): readonly object[] {
  process.nextTick(() => {
    ticks[0] ??= executionAsyncResource();
  });
  return ticks;
}
