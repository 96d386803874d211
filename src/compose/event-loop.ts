/**
 * How long the event loop is held: the CPU time that its thread takes from one turn to the next. Its delay, which the default metrics tell,
 * also grows where other threads and programs want the same cores; this one only grows with what is done in one go.
 */
import { createHistogram } from 'node:perf_hooks';
import type { Sleep } from '../domain/time.ts';

/** How often to look. What holds the loop for longer is seen whole, beside what else was done between two looks. */
const LOOK_MILLIS = 10;

export class EventLoopWatch {
  readonly #cpuMicros: () => number;
  /** Microseconds. */
  readonly #held = createHistogram();

  /** @param cpuMicros CPU time of this thread until now */
  constructor(cpuMicros: () => number) {
    this.#cpuMicros = cpuMicros;
  }

  /** Looks on until the signal is aborted. */
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

  /** Seconds, by quantile, since it was asked last. */
  take(): Readonly<Record<'0.99' | '1', number>> {
    const held = { '0.99': this.#held.percentile(99) / 1e6, '1': this.#held.max / 1e6 };
    this.#held.reset();
    return held;
  }
}
