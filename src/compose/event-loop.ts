/**
 * Measures how long the event loop is held: the CPU time that its thread takes in one turn. The loop's delay, which is among
 * the default metrics, also grows when other threads and programs want the same cores. This figure grows only with the work of
 * a single turn.
 */
import { createHistogram } from 'node:perf_hooks';
import type { Sleep } from '../domain/time.ts';

/** How often to look. A turn longer than this is measured whole, with what else was done between two looks. */
const LOOK_MILLIS = 10;

export class EventLoopWatch {
  readonly #cpuMicros: () => number;
  /** Microseconds. */
  readonly #held = createHistogram();

  /** @param cpuMicros CPU time of this thread until now */
  constructor(cpuMicros: () => number) {
    this.#cpuMicros = cpuMicros;
  }

  /** Measures until the signal is aborted. */
  async run(sleep: Sleep, signal: AbortSignal): Promise<void> {
    let before = this.#cpuMicros();
    try {
      for (;;) {
        await sleep(LOOK_MILLIS, signal);
        const now = this.#cpuMicros();
        this.#held.record(Math.max(1, Math.round(now - before)));
        before = now;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Seconds by quantile, since the last call. */
  take(): Readonly<Record<'0.99' | '1', number>> {
    const held = { '0.99': this.#held.percentile(99) / 1e6, '1': this.#held.max / 1e6 };
    this.#held.reset();
    return held;
  }
}
