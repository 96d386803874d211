/**
 * Measures how long the event loop is held: the CPU time that its thread takes in one turn, and how much of it V8 took to collect the heap.
 * The loop's delay, which is among the default metrics, also grows when other threads and programs want the same cores. These figures
 * grow only with the work of a single turn.
 *
 * A timer fires at most once in a turn. So between two looks lies one turn and what was done until the second was due, which is at most
 * `BUSY_MILLIS` (`IDLE_MILLIS` in the first look after a pause). A figure is that much too large at most, and never too small.
 */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';

/** How often to look while there is work. Each look takes some 10 µs, half a percent of the time. */
const BUSY_MILLIS = 2;
const IDLE_MILLIS = 5;
/** There is work if the thread computed for this share of the time. */
const BUSY_SHARE = 0.1;

/** Seconds by quantile. */
export type Quantiles = Readonly<Record<'0.99' | '1', number>>;

interface Look {
  readonly startMillis: number;
  readonly endMillis: number;
  readonly cpuMicros: number;
  /** For at most this much of the time the thread did nothing. */
  readonly idleMillis: number;
  collectedMillis: number;
}

export class EventLoopWatch {
  /** CPU time of a turn. */
  readonly held = new HeldTimes();
  /** The same without collections of the heap. */
  readonly worked = new HeldTimes();
  /** The part of the same that were collections. */
  readonly collected = new HeldTimes();
  #lookedMillis: number;
  #cpuMicros: number;
  #nextMillis = IDLE_MILLIS;
  /** Collections since the last look. */
  #collectedMillis = 0;
  /** Counted at the look after it, when all its collections have been reported. */
  #last: Look | undefined;

  /**
   * @param nowMillis monotonic
   * @param cpuMicros CPU time of this thread until now
   */
  constructor(nowMillis: number, cpuMicros: number) {
    this.#lookedMillis = nowMillis;
    this.#cpuMicros = cpuMicros;
  }

  /** Reports a collection of the heap, which the loop waited for; at the latest in the turn after it. */
  collection(startMillis: number, millis: number): void {
    if (this.#last !== undefined && startMillis < this.#last.endMillis) this.#last.collectedMillis += millis;
    else this.#collectedMillis += millis;
  }

  /** Looks, with the same clocks as at first. @returns after how many milliseconds to look again */
  look(nowMillis: number, cpuMicros: number): number {
    this.#count();
    const look = {
      startMillis: this.#lookedMillis,
      endMillis: nowMillis,
      cpuMicros: cpuMicros - this.#cpuMicros,
      idleMillis: this.#nextMillis,
      collectedMillis: this.#collectedMillis,
    };
    this.#last = look;
    this.#collectedMillis = 0;
    this.#lookedMillis = nowMillis;
    this.#cpuMicros = cpuMicros;
    const isBusy = look.cpuMicros > BUSY_SHARE * 1000 * (look.endMillis - look.startMillis);
    this.#nextMillis = isBusy ? BUSY_MILLIS : IDLE_MILLIS;
    return this.#nextMillis;
  }

  #count(): void {
    if (this.#last === undefined) return;
    const { startMillis, endMillis, idleMillis, cpuMicros, collectedMillis } = this.#last;
    // How long a collection took is told by the clock. Where the thread has to share its core, it has computed for a part of that.
    const busyMillis = endMillis - startMillis - idleMillis;
    const share = Math.min(1, cpuMicros / 1000 / Math.max(busyMillis, collectedMillis, Number.EPSILON));
    const collectedMicros = Math.min(cpuMicros, collectedMillis * 1000 * share);
    this.held.add(cpuMicros);
    this.worked.add(cpuMicros - collectedMicros);
    this.collected.add(collectedMicros);
  }
}

class HeldTimes {
  readonly #micros: RecordableHistogram = createHistogram();

  add(micros: number): void {
    this.#micros.record(Math.max(1, Math.round(micros)));
  }

  /** Since the last call. */
  take(): Quantiles {
    const quantiles = { '0.99': this.#micros.percentile(99) / 1e6, '1': this.#micros.max / 1e6 };
    this.#micros.reset();
    return quantiles;
  }
}
