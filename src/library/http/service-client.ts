/**
 * Sends requests to the service, again if need be. Whatever changes something is sent under an `Idempotency-Key` of its own, and the
 * service carries out a key only once (decision 19).
 */
import type { Instant } from '../../domain/instant.ts';
import type { Sleep } from '../../domain/time.ts';
import { PublishError } from '../../publishing/publish-error.ts';
import { type Answer, CallerFailure, type Connection, type Sending } from './connection.ts';
import { PASSING_CODE, ServiceError } from './refusals.ts';

export interface ClientEffects {
  readonly clock: () => Instant;
  readonly sleep: Sleep;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** A text that no other request has. */
  readonly newIdempotencyKey: () => string;
}

/** After these, a new attempt may succeed (contract §4); after others it does not. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);
const FIRST_PAUSE_MILLIS = 500;
const PAUSE_MAX_MILLIS = 30_000;
/** If the service asks for a longer pause, no new attempt is made. */
const RETRY_AFTER_MAX_MILLIS = 300_000;

export class ServiceClient {
  readonly #connection: Pick<Connection, 'attempt'>;
  readonly #retriesMax: number;
  readonly #effects: ClientEffects;

  /** @param retriesMax how often a request is sent again */
  constructor(connection: Pick<Connection, 'attempt'>, retriesMax: number, effects: ClientEffects) {
    this.#connection = connection;
    this.#retriesMax = retriesMax;
    this.#effects = effects;
  }

  /**
   * @returns the answer. It may be a refusal; one that may pass is returned only after the last attempt
   * @throws ServiceError when no answer came · PublishError for a file that cannot be read · the signal's reason · what `onSent` fails with
   */
  async send(sending: Sending, signal: AbortSignal): Promise<Answer> {
    const { sleep, newIdempotencyKey } = this.#effects;
    const headers =
      sending.method === 'GET'
        ? sending.headers
        : { ...sending.headers, 'idempotency-key': `"${newIdempotencyKey()}"` };
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await this.#attempt({ ...sending, headers }, signal);
      const pause = this.#pauseAfter(outcome, attempt);
      if (pause === undefined) return outcomeOrThrow(outcome, sending, attempt + 1);
      await sleep(pause, signal).catch(() => signal.throwIfAborted());
    }
  }

  async #attempt(sending: Sending, signal: AbortSignal): Promise<Answer | Error> {
    try {
      return await this.#connection.attempt(sending, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof CallerFailure) throw error.cause;
      if (!(error instanceof Error) || error instanceof PublishError) throw error;
      return error;
    }
  }

  /** The pause before the next attempt, in milliseconds; undefined: no further attempt. */
  #pauseAfter(outcome: Answer | Error, attempt: number): number | undefined {
    if (attempt >= this.#retriesMax) return undefined;
    const growing = Math.min(PAUSE_MAX_MILLIS, FIRST_PAUSE_MILLIS * 2 ** attempt);
    const backoff = growing * (0.5 + this.#effects.random() / 2);
    if (outcome instanceof Error) return backoff;
    if (!PASSING_STATUSES.has(outcome.status) && outcome.code !== PASSING_CODE) return undefined;
    const asked = this.#retryAfterMillis(outcome.retryAfter);
    if (asked === undefined) return backoff;
    return asked <= RETRY_AFTER_MAX_MILLIS ? Math.max(asked, 0) : undefined;
  }

  /** Seconds, or a date (RFC 9110 §10.2.3). `Date.parse` finds a date in nearly anything: 1.5 is the 5th of January 2001. */
  #retryAfterMillis(header: string | undefined): number | undefined {
    if (header === undefined || !/^(\d+$|[A-Z])/i.test(header)) return undefined;
    const millis = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - this.#effects.clock();
    return Number.isNaN(millis) ? undefined : millis;
  }
}

function outcomeOrThrow(outcome: Answer | Error, { method, path }: Sending, attempts: number): Answer {
  if (!(outcome instanceof Error)) return outcome;
  const [address] = path.split('?');
  const times = attempts === 1 ? 'once' : `${attempts} times`;
  throw new ServiceError(`${method} ${address} was sent ${times} and not answered: ${reasonOf(outcome)}`, {
    cause: outcome,
  });
}

/** When all addresses of a host fail, Node gives one error without a message; the first of the failures has one. */
function reasonOf(error: Error): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error ? first.message : error.message;
}
