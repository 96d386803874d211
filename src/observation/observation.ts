/**
 * What happens in a running service, as a closed list. Whoever brings something about says so by one of these; the log, the
 * metrics, the usage accounts and the traces each take what concerns them. Nothing here holds a key, an address with its
 * parameters, or a row.
 */
import type { Instant } from '../domain/instant.ts';
import type { WebhookAttempt } from '../domain/webhook.ts';
import type { RunEvent } from '../runs/run-claimed.ts';
import type { RequestStats } from './request-stats.ts';

export type Observation =
  | { readonly kind: 'listening'; readonly url: string }
  /** Asked to stop: no new requests are taken. */
  | { readonly kind: 'stopping'; readonly inFlight: number }
  /** `cut`: answers that were still going out when the grace period ended. */
  | { readonly kind: 'stopped'; readonly cut: number }
  | AnsweredRequest
  /** Something went wrong that nobody asked about, or that the client is told no more of than a request id. */
  | { readonly kind: 'fault'; readonly what?: string; readonly requestId?: string; readonly error: unknown }
  | { readonly kind: 'usage_written'; readonly uses: number }
  | { readonly kind: 'usage_not_written'; readonly error: unknown }
  | { readonly kind: 'run'; readonly event: RunEvent }
  | { readonly kind: 'datasets_without_sources'; readonly datasets: readonly string[]; readonly directory: string }
  /** A dataset is not served, since its query id is somebody else's. */
  | { readonly kind: 'dataset_refused'; readonly refusal: string }
  /** The clock is more than a day away from where it was last seen. */
  | { readonly kind: 'clock_jumped'; readonly about: string }
  /** Parts of a result are missing from the store, or there again: an older run is the latest of its query as long as they are. */
  | { readonly kind: 'result_missing' | 'result_restored'; readonly executionId: string }
  /** A process of several that answer requests has ended; another takes its place after the pause. */
  | { readonly kind: 'worker_ended'; readonly index: number; readonly why: string; readonly pauseMillis: number }
  /** Rows of a result, or of a view of it, have been encoded to be read from then on: so many files, in so many bytes. */
  | {
      readonly kind: 'row_files_built';
      readonly executionId: string;
      readonly files: number;
      readonly bytes: number;
      readonly millis: number;
    }
  /** They could not be, and its rows are read as before; or one turned out to be damaged, and was removed. */
  | { readonly kind: 'row_files_failed' | 'row_file_damaged'; readonly executionId: string; readonly error: unknown }
  /** All or some of them never will be: its rows are read as before. */
  | { readonly kind: 'row_files_refused'; readonly executionId: string; readonly why: string }
  /** A column will never have an index: rows are searched as before. */
  | { readonly kind: 'index_refused'; readonly executionId: string; readonly why: string }
  /** A column, counted from 0, has an index from then on. */
  | {
      readonly kind: 'index_built';
      readonly executionId: string;
      readonly column: number;
      readonly bytes: number;
      readonly millis: number;
    }
  /** It could not be made or read, and rows are searched as before; or one turned out to be damaged, and was removed. */
  | { readonly kind: 'index_failed' | 'index_damaged'; readonly executionId: string; readonly error: unknown }
  /** Bloom filters of a part are missing or damaged, or could not be read: the part is searched without them. */
  | { readonly kind: 'bloom_filters_unreadable'; readonly executionId: string; readonly error: unknown }
  | { readonly kind: 'webhook'; readonly attempt: WebhookAttempt }
  /** A sweep of the schedule left alone what it would have deleted. */
  | { readonly kind: 'sweep_stopped'; readonly reason: string }
  | { readonly kind: 'swept'; readonly expired: number; readonly orphans: number; readonly bytes: number };

/** An answer is out, whole or cut, or its client has gone. */
export interface AnsweredRequest {
  readonly kind: 'answered';
  readonly requestId: string;
  /** The id of the key, when there was one that is known. */
  readonly keyId: string | undefined;
  readonly method: string;
  /** The pattern, `/v1/query/:id/results`; undefined when no route is there. */
  readonly route: string | undefined;
  readonly status: number;
  readonly startedAt: Instant;
  readonly millis: number;
  /** The connection ended before the answer did. */
  readonly aborted: boolean;
  /** The W3C trace that the client says it belongs to. */
  readonly traceparent: string | undefined;
  readonly stats: RequestStats;
}

export type Observe = (observation: Observation) => void;

/** Tells each of them, in this order. */
export function fanOut(observers: readonly Observe[]): Observe {
  return (observation) => {
    for (const observe of observers) observe(observation);
  };
}
