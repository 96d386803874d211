/** From the service's parts to the observers of what happens in it: metrics, usage, traces. The log is the caller's. */

import { watchClock } from '../maintenance/clock-watch.ts';
import { describeClockDoubt } from '../maintenance/sweep-trust.ts';
import { KeyUses } from '../observation/key-uses.ts';
import { type Metrics, makeMetrics } from '../observation/metrics.ts';
import { fanOut, type Observe } from '../observation/observation.ts';
import type { TraceSettings } from '../observation/traces/trace-settings.ts';
import { UsageMeter } from '../observation/usage-meter.ts';
import { type StartTimer, watchEventLoop } from '../observation/watch-event-loop.ts';
import { type GaugedParts, gaugesOf } from './gauges.ts';
import type { Service } from './service.ts';

export interface TelemetryEffects {
  /** Of the service: `1.2.3`. */
  readonly version: string;
  /** Where traces are sent; undefined when none are wanted. */
  readonly tracing: TraceSettings | undefined;
  /** Names this process among those that share the catalog. */
  readonly owner: string;
  /** CPU time that this thread has taken. */
  readonly threadCpuMicros: () => number;
  readonly startTimer: StartTimer;
}

/** To be disposed of last: it then writes the counts and sends the traces that are left. */
export interface Telemetry extends AsyncDisposable {
  readonly metrics: Metrics;
}

/** @param observers the list of observers; those that are started here are added to it */
export async function startTelemetry(
  observers: Observe[],
  service: Service,
  parts: Omit<GaugedParts, 'usage' | 'eventLoop' | 'clock' | 'sleep' | 'monotonic'>,
  effects: TelemetryEffects,
): Promise<Telemetry> {
  const { settings, clock, sleep, monotonic } = service;
  const observe = fanOut(observers);
  const stop = new AbortController();
  const meter = new UsageMeter({ usage: parts.catalog.usage, observe, writer: effects.owner });
  const keyUses = new KeyUses({ principals: parts.catalog.principals, observe });
  const eventLoop = watchEventLoop({ ...effects, monotonic }, stop.signal);
  const metrics = makeMetrics(gaugesOf({ ...parts, usage: meter, eventLoop, clock, sleep, monotonic }));
  const running = [meter, keyUses].map((each) => each.run(settings.usageIntervalMillis, sleep, stop.signal));
  running.push(
    watchClock(
      {
        catalog: parts.catalog,
        clock,
        sleep,
        onJump: (doubt) => observe({ kind: 'clock_jumped', about: describeClockDoubt(doubt) }),
        onError: (error) => observe({ kind: 'fault', what: 'looking at the clock', error }),
      },
      stop.signal,
    ),
  );
  observers.push(
    metrics.observe,
    (observation) => meter.observe(observation),
    (observation) => keyUses.observe(observation),
  );
  const { tracing } = effects;
  if (tracing !== undefined) {
    const { Tracing } = await import('../observation/traces/tracing.ts');
    const traces = new Tracing(tracing, observe);
    observers.push((observation) => traces.observe(observation));
    stop.signal.addEventListener('abort', () => running.push(traces.shutdown()), { once: true });
  }
  return {
    metrics,
    [Symbol.asyncDispose]: async () => {
      stop.abort(new Error('the service has stopped'));
      await Promise.all(running);
    },
  };
}
