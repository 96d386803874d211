/** What an attempt's outcome means: whether the message has arrived, and when it is tried again. */
import { type Clock, DAY_MILLIS } from '../domain/instant.ts';
import type { PostOutcome } from './post.ts';

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000];

/** The pauses after the first attempt, the second, …; the last one also after all that follow. */
const PAUSES = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR];
/** Each pause is longer or shorter by up to this part, so that what failed together does not come back together. */
const JITTER = 0.2;
/** How long a message is tried. */
const TRIED_MILLIS = DAY_MILLIS;
/** The longest that a receiver may put the next attempt off. */
const RETRY_AFTER_MILLIS_MAX = 4 * HOUR;

export type Verdict =
  | { readonly kind: 'delivered'; readonly status: number }
  | { readonly kind: 'failed'; readonly status?: number; readonly error: string; readonly retryInMillis?: number }
  /** The receiver wants nothing more. */
  | { readonly kind: 'gone'; readonly status: number; readonly error: string };

export interface Tried {
  /** Attempts before this one. */
  readonly attempts: number;
  /** How old the message is. */
  readonly ageMillis: number;
}

/** @param random uniform in [0, 1) */
export function verdictOn(
  outcome: PostOutcome,
  tried: Tried,
  { clock, random }: { readonly clock: Clock; readonly random: () => number },
): Verdict {
  if (outcome.kind === 'failed') return again({ error: outcome.error }, tried, 0, random());
  const { status } = outcome;
  if (status >= 200 && status < 300) return { kind: 'delivered', status };
  if (status === 410) return { kind: 'gone', status, error: 'answered 410: it is gone' };
  const why = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
  const wanted = retryAfterMillis(outcome.retryAfter, clock());
  return again({ status, error: `answered ${status}${why}` }, tried, wanted, random());
}

function again(
  failure: { readonly status?: number; readonly error: string },
  { attempts, ageMillis }: Tried,
  wantedMillis: number,
  drawn: number,
): Verdict {
  // A clock that was set back makes nothing younger than new.
  const leftMillis = TRIED_MILLIS - Math.max(0, ageMillis);
  if (leftMillis <= 0) return { kind: 'failed', ...failure };
  const pause = (PAUSES[attempts] ?? PAUSES.at(-1) ?? 0) * (1 - JITTER + 2 * JITTER * drawn);
  const wanted = Math.min(wantedMillis, RETRY_AFTER_MILLIS_MAX);
  // The last attempt is when the time is over.
  return { kind: 'failed', ...failure, retryInMillis: Math.round(Math.min(Math.max(pause, wanted), leftMillis)) };
}

/** The header's seconds, or its time; 0 where it says nothing. */
function retryAfterMillis(text: string | undefined, now: number): number {
  if (text === undefined) return 0;
  if (/^\d{1,9}$/.test(text.trim())) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? 0 : Math.max(0, at - now);
}
