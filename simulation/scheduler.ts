/**
 * Simulated time, and who goes next. All that can happen is in one queue, each at an instant that the seed had a part in. A step takes
 * the earliest out of it and lets what it begins go on until everybody waits again: for an answer, a lock, or time to pass. Nothing here
 * waits for anything real, so one seed always gives one order.
 */
import type { Instant } from '../src/domain/instant.ts';
import type { Random } from '../test/feature/random-results.ts';
import type { Trace } from './trace.ts';

/** The real one: the simulated world has another in its place (turns.ts). */
const afterMicrotasks = globalThis.setImmediate;

/** Somebody to whom things happen, and who may be dead or frozen when they do. */
export interface Party {
  readonly name: string;
  /** Nothing happens to the dead any more. */
  readonly isDead: boolean;
  /** Until then nothing happens to it: `now` or earlier when it is not frozen. */
  readonly frozenUntil: Instant;
}

export interface SimulatedEvent {
  /** In milliseconds from now; with fractions, so that messages on one connection have an order. */
  readonly delayMillis: number;
  /** To whom it happens; the world around them when left out. */
  readonly party?: Party;
  /** One line of the trace. */
  readonly name: string;
  readonly run: () => void;
}

interface Queued extends SimulatedEvent {
  at: Instant;
  /** Of events at one instant the seed decides, and then their age. */
  order: number;
  readonly age: number;
  isCancelled: boolean;
}

export class Scheduler {
  readonly random: Random;
  readonly #trace: Trace;
  readonly #queue: Queued[] = [];
  #now: Instant;
  #age = 0;
  #steps = 0;
  #wake = Promise.withResolvers<void>();

  constructor(random: Random, start: Instant, trace: Trace) {
    this.random = random;
    this.#now = start;
    this.#trace = trace;
  }

  /** True time, which no clock in the simulated world shows exactly. */
  get now(): Instant {
    return this.#now;
  }

  get steps(): number {
    return this.#steps;
  }

  /** @returns takes the event out of the queue again */
  schedule(event: SimulatedEvent): () => void {
    this.#age += 1;
    const at = this.#now + Math.max(0, event.delayMillis);
    const queued = { ...event, at, order: this.random.below(2 ** 30), age: this.#age, isCancelled: false };
    push(this.#queue, queued);
    this.#wake.resolve();
    return () => {
      queued.isCancelled = true;
    };
  }

  /** Resolves after up to so long, unless the party is killed before. */
  after(party: Party, millisMax: number, name: string): Promise<void> {
    const delayMillis = (this.random.below(1000) / 1000) * millisMax;
    return new Promise((resolve) => void this.schedule({ delayMillis, party, name, run: resolve }));
  }

  /** Something worth a line in the trace that is no event of its own. */
  note(text: string): void {
    this.#trace.add(this.#now, text);
  }

  /** Lets the next event happen, and what it begins go on as far as it can. @returns false when there is none */
  async step(): Promise<boolean> {
    for (;;) {
      const event = pop(this.#queue);
      if (event === undefined) return false;
      if (event.isCancelled || event.party?.isDead === true) continue;
      this.#now = Math.max(this.#now, event.at);
      if (event.party !== undefined && event.party.frozenUntil > this.#now) {
        event.at = event.party.frozenUntil;
        push(this.#queue, event);
        continue;
      }
      this.#steps += 1;
      this.#trace.add(this.#now, event.party === undefined ? event.name : `${event.party.name}: ${event.name}`);
      event.run();
      await new Promise<void>((resolve) => afterMicrotasks(resolve));
      return true;
    }
  }

  /** Steps whenever there is something to do, until the signal is aborted: for tests that wait for simulated parts as for real ones. */
  async pump(signal: AbortSignal): Promise<void> {
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    while (!signal.aborted) {
      this.#wake = Promise.withResolvers();
      if (!(await this.step())) await Promise.race([this.#wake.promise, stopped]);
    }
  }
}

function isBefore(a: Queued, b: Queued): boolean {
  if (a.at !== b.at) return a.at < b.at;
  return a.order === b.order ? a.age < b.age : a.order < b.order;
}

/** The queue is a binary heap. */
function push(heap: Queued[], event: Queued): void {
  let at = heap.length;
  heap.push(event);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || !isBefore(event, above)) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = event;
}

function pop(heap: Queued[]): Queued | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (first === undefined || last === undefined || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    const left = heap[2 * at + 1];
    const right = heap[2 * at + 2];
    if (left === undefined) break;
    const isRight = right !== undefined && isBefore(right, left);
    const child = isRight ? right : left;
    if (!isBefore(child, last)) break;
    heap[at] = child;
    at = 2 * at + (isRight ? 2 : 1);
  }
  heap[at] = last;
  return first;
}
