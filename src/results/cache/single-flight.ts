/**
 * Does a piece of work once for all who ask for it at the same time. The first does it for its own key and client; the others wait and
 * share the outcome, a refusal too. A page that a thousand clients want at once takes one place in a queue, not a thousand. (Work that
 * belongs to nobody in particular is shared by `domain/shared-work.ts`.)
 */
import { orAborted } from '../../domain/or-aborted.ts';
import { Turns } from '../../domain/turns.ts';
import { RequestError } from '../../errors/errors.ts';
import { isClientGone } from '../limits/client-gone.ts';

type Outcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** Whoever did the work has left before it was done. */
  | { readonly kind: 'left' };

interface Flight<T> {
  readonly outcome: Promise<Outcome<T>>;
  /** Somebody waits for it besides whoever does the work. */
  isJoined: boolean;
}

export interface Flown<T> {
  readonly value: T;
  /** Others may have the same value. */
  readonly isShared: boolean;
}

export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();
  /** In these turns those who have waited go on, not all at once. */
  readonly #turns = new Turns();

  /** Whether the work is being done. */
  has(name: string): boolean {
    return this.#flights.has(name);
  }

  /**
   * @param work done by the first who asks under this name, and ended by its signal; the next one does it when the first has left
   * @param isShared whether others may take the value; where not, each does the work for itself
   * @throws what the work throws; the signal's reason once it aborts
   */
  async run(
    name: string,
    signal: AbortSignal,
    work: () => Promise<T>,
    isShared: (value: T) => boolean,
  ): Promise<Flown<T>> {
    for (let flight = this.#flights.get(name); flight !== undefined; flight = this.#flights.get(name)) {
      flight.isJoined = true;
      const outcome = await orAborted(flight.outcome, signal);
      if (outcome.kind === 'left') continue;
      if (outcome.kind === 'done' && !isShared(outcome.value)) return { value: await work(), isShared: false };
      // Answering takes a fraction of a millisecond, and a thousand may have waited.
      await this.#turns.next();
      signal.throwIfAborted();
      if (outcome.kind === 'failed') throw outcome.error;
      return { value: outcome.value, isShared: true };
    }
    const doing = work();
    const outcome = doing.then(
      (value): Outcome<T> => ({ kind: 'done', value }),
      (error): Outcome<T> => (isOwn(error) ? { kind: 'left' } : { kind: 'failed', error }),
    );
    const flight: Flight<T> = { outcome, isJoined: false };
    this.#flights.set(name, flight);
    try {
      const value = await doing;
      return { value, isShared: flight.isJoined };
    } finally {
      this.#flights.delete(name);
    }
  }
}

/** Whether the error concerns only whoever did the work: the client has gone, or its key has too much in flight. */
function isOwn(error: unknown): boolean {
  return isClientGone(error) || (error instanceof RequestError && error.code === 'rate_limited');
}
