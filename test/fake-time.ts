/** A clock that a test moves, with sleepers that wake when it passes their time. */
import type { Instant } from '../src/domain/instant.ts';
import type { Sleep } from '../src/domain/time.ts';

interface Sleeper {
  readonly until: Instant;
  readonly wake: () => void;
}

export class FakeTime {
  #now: Instant;
  #sleepers: Sleeper[] = [];
  #watchers: (() => void)[] = [];

  constructor(start: Instant) {
    this.#now = start;
  }

  readonly clock = (): Instant => this.#now;

  readonly sleep: Sleep = (millis, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const sleeper = { until: this.#now + millis, wake: resolve };
      this.#sleepers.push(sleeper);
      signal.addEventListener(
        'abort',
        () => {
          this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
          reject(signal.reason);
        },
        { once: true },
      );
      for (const watcher of this.#watchers.splice(0)) watcher();
    });

  /** Resolves when somebody next goes to sleep. */
  nextSleep(): Promise<void> {
    return new Promise((resolve) => this.#watchers.push(resolve));
  }

  /** Moves the clock to `instant` and wakes those whose time has come. */
  moveTo(instant: Instant): void {
    this.#now = instant;
    const due = this.#sleepers.filter((sleeper) => sleeper.until <= instant);
    this.#sleepers = this.#sleepers.filter((sleeper) => sleeper.until > instant);
    for (const sleeper of due) sleeper.wake();
  }

  advance(millis: number): void {
    this.moveTo(this.#now + millis);
  }
}
