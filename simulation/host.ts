/**
 * One process of the service: its clock, which differs from everybody else's, and its fate. What it began before it was killed never goes
 * on; one that is frozen (a stopped virtual machine, a long pause) goes on later as if no time had passed.
 */
import type { Clock, Instant } from '../src/domain/instant.ts';
import type { Sleep } from '../src/domain/time.ts';
import type { Party, Scheduler } from './scheduler.ts';

export interface HostClock {
  /** How far the clock is ahead of true time, at the start. */
  readonly aheadMillis: number;
  /** How much faster than true time it goes: 0.0001 gains 0.36 seconds in an hour. */
  readonly drift: number;
}

export class Host implements Party {
  readonly name: string;
  readonly #scheduler: Scheduler;
  readonly #hostClock: HostClock;
  /** How far the clock was set to another time. */
  #jumpedMillis = 0;
  readonly #startedAt: Instant;
  readonly #onDeath: (() => void)[] = [];
  #isDead = false;
  isGoneSilently = false;
  #frozenUntil = Number.NEGATIVE_INFINITY;

  constructor(name: string, scheduler: Scheduler, hostClock: HostClock = { aheadMillis: 0, drift: 0 }) {
    this.name = name;
    this.#scheduler = scheduler;
    this.#hostClock = hostClock;
    this.#startedAt = scheduler.now;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get frozenUntil(): Instant {
    return this.#frozenUntil;
  }

  get isFrozen(): boolean {
    return this.#frozenUntil > this.#scheduler.now;
  }

  readonly clock: Clock = () => {
    const { now } = this.#scheduler;
    const { aheadMillis, drift } = this.#hostClock;
    return Math.floor(now + aheadMillis + drift * (now - this.#startedAt) + this.#jumpedMillis);
  };

  /** Milliseconds since the process began, whatever its clock says. */
  readonly monotonic = (): number => this.#scheduler.now - this.#startedAt;

  /** Sets its clock to another time. */
  jump(millis: number): void {
    this.#jumpedMillis += millis;
  }

  /** Sets it right again. */
  correctClock(): void {
    this.#jumpedMillis = 0;
  }

  readonly sleep: Sleep = (millis, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const cancel = this.#scheduler.schedule({
        delayMillis: millis,
        party: this,
        name: `wakes after ${millis} ms`,
        run: () => {
          signal.removeEventListener('abort', abort);
          resolve();
        },
      });
      const abort = () => {
        cancel();
        reject(signal.reason);
      };
      signal.addEventListener('abort', abort, { once: true });
    });

  /** Calls `told` when this process is killed: what was at the other end of its connections notices. */
  onDeath(told: () => void): void {
    this.#onDeath.push(told);
  }

  /** @param silently the machine is gone, and nothing tells the other ends of its connections */
  kill(silently = false): void {
    this.#isDead = true;
    this.isGoneSilently = silently;
    for (const told of this.#onDeath.splice(0)) told();
  }

  freeze(millis: number): void {
    this.#frozenUntil = this.#scheduler.now + millis;
  }
}
