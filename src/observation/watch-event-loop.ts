/** Watches the event loop of this thread: looks at it again and again, and hears of the collections of its heap. */
import { PerformanceObserver } from 'node:perf_hooks';
import { EventLoopWatch } from './event-loop.ts';

/** As `setTimeout`, of which no more is needed. `Sleep` would make a promise and a listener for each of hundreds of looks a second. */
export type StartTimer = (callback: () => void, millis: number) => { refresh(): unknown; close(): unknown };

export interface WatchEffects {
  /** Milliseconds since the process began, as `perf_hooks` counts them. */
  readonly monotonic: () => number;
  /** CPU time of this thread until now. */
  readonly threadCpuMicros: () => number;
  readonly startTimer: StartTimer;
}

export function watchEventLoop(
  { monotonic, threadCpuMicros, startTimer }: WatchEffects,
  signal: AbortSignal,
): EventLoopWatch {
  const watch = new EventLoopWatch(monotonic(), threadCpuMicros());
  const collections = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) watch.collection(startTime, duration);
  });
  collections.observe({ entryTypes: ['gc'] });
  let millis = 0;
  let timer = startTimer(look, millis);
  function look(): void {
    const next = watch.look(monotonic(), threadCpuMicros());
    if (next === millis) timer.refresh();
    else timer = startTimer(look, next);
    millis = next;
  }
  signal.addEventListener(
    'abort',
    () => {
      timer.close();
      collections.disconnect();
    },
    { once: true },
  );
  return watch;
}
