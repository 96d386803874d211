/**
 * A queue of work. It bounds how many tasks run and how many wait, and refuses the others. Keys take turns, so a client that asks for
 * much waits for its own work and does not hold up others. One queue may yield to another: while the other has work, this one runs one
 * task at a time.
 */
import { RequestError } from '../../errors/errors.ts';

export interface WorkQueueLimits {
  readonly runningMax: number;
  readonly waitingMax: number;
  /** Of what there are too many, for who is refused: heavy reads, when left out. */
  readonly waits?: string;
}

interface Waiting {
  readonly admit: () => void;
  readonly refuse: (reason: unknown) => void;
}

export class WorkQueue {
  readonly #limits: WorkQueueLimits;
  /** Who waits, by key. No set is empty, and the key that is next comes first. */
  readonly #waiting = new Map<string, Set<Waiting>>();
  readonly #yieldsTo: WorkQueue | undefined;
  /** The queues that yield to this one. */
  readonly #behind: WorkQueue[] = [];
  #running = 0;
  #waitingCount = 0;

  constructor(limits: WorkQueueLimits, yieldsTo?: WorkQueue) {
    this.#limits = limits;
    this.#yieldsTo = yieldsTo;
    if (yieldsTo !== undefined) yieldsTo.#behind.push(this);
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waitingCount;
  }

  /**
   * Runs `task` when its turn has come.
   * @param key whose work it is
   * @throws RequestError overloaded if too many tasks wait and no key has more waiting than this one; also while it waits, if a key with
   *   fewer waiting needs the place; the signal's reason when it aborts while waiting
   */
  async run<T>(key: string, task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    using _ = await this.enter(key, signal);
    return await task();
  }

  /** A place, when its turn has come, until it is disposed of. @throws as `run` does */
  async enter(key: string, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#hasRoom()) this.#running += 1;
    else await this.#turnOf(key, signal);
    const place = new DisposableStack();
    place.defer(() => this.#leave());
    return place;
  }

  async #turnOf(key: string, signal: AbortSignal): Promise<void> {
    if (this.#waitingCount >= this.#limits.waitingMax) this.#makeRoomFor(key);
    const turn = Promise.withResolvers<void>();
    const waiting = { admit: () => turn.resolve(), refuse: turn.reject };
    const giveUp = () => {
      this.#remove(key, waiting);
      turn.reject(signal.reason);
    };
    this.#add(key, waiting);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      await turn.promise;
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }

  #hasRoom(): boolean {
    const isQuiet = this.#yieldsTo === undefined || this.#yieldsTo.running === 0;
    return this.#running < (isQuiet ? this.#limits.runningMax : 1);
  }

  /** Refuses the newest task of the key with the most waiting, this new task included. */
  #makeRoomFor(key: string): void {
    let [longestKey, longest] = [key, (this.#waiting.get(key)?.size ?? 0) + 1];
    for (const [other, { size }] of this.#waiting) if (size > longest) [longestKey, longest] = [other, size];
    const last = [...(this.#waiting.get(longestKey) ?? [])].at(-1);
    if (longestKey === key || last === undefined) throw this.#overloaded();
    this.#remove(longestKey, last);
    last.refuse(this.#overloaded());
  }

  #add(key: string, waiting: Waiting): void {
    const ofKey = this.#waiting.get(key);
    if (ofKey === undefined) this.#waiting.set(key, new Set([waiting]));
    else ofKey.add(waiting);
    this.#waitingCount += 1;
  }

  #remove(key: string, waiting: Waiting): void {
    const ofKey = this.#waiting.get(key);
    if (ofKey?.delete(waiting) !== true) return;
    this.#waitingCount -= 1;
    if (ofKey.size === 0) this.#waiting.delete(key);
  }

  #leave(): void {
    this.#running -= 1;
    this.#fill();
    if (this.#running === 0) for (const queue of this.#behind) queue.#fill();
  }

  /** Gives the places that are free to the keys in turn, and of each to the one that has waited longest. */
  #fill(): void {
    while (this.#hasRoom()) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      const [key, ofKey] = next;
      const [first] = ofKey;
      if (first === undefined) throw new Error('a key without work has a turn');
      this.#remove(key, first);
      // Its next turn comes after everybody else's.
      if (this.#waiting.delete(key)) this.#waiting.set(key, ofKey);
      this.#running += 1;
      first.admit();
    }
  }

  #overloaded(): RequestError {
    const { waits = 'heavy reads are waiting' } = this.#limits;
    return new RequestError('overloaded', `too many ${waits}; try again in some seconds`);
  }
}

/** A queue, or several after each other, in which work takes its turn. */
export type Queue = Pick<WorkQueue, 'run' | 'running'>;
