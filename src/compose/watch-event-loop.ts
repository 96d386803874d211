/** Watches the event loop of this thread: looks at it again and again, and hears of the collections of its heap. */
import { PerformanceObserver, performance } from 'node:perf_hooks';
import { EventLoopWatch } from './event-loop.ts';

/** @param cpuMicros CPU time of this thread until now */
export function watchEventLoop(cpuMicros: () => number, signal: AbortSignal): EventLoopWatch {
  const watch = new EventLoopWatch(performance.now(), cpuMicros());
  const collections = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) watch.collection(startTime, duration);
  });
  collections.observe({ entryTypes: ['gc'] });
  let millis = 0;
  let timer = setTimeout(look, millis);
  function look(): void {
    const next = watch.look(performance.now(), cpuMicros());
    if (next === millis) timer.refresh();
    else timer = setTimeout(look, next);
    millis = next;
  }
  signal.addEventListener(
    'abort',
    () => {
      clearTimeout(timer);
      collections.disconnect();
    },
    { once: true },
  );
  return watch;
}
