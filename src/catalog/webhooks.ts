/** The part of the catalog that is webhooks, and the outbox of what they are told. */
import type { ListPage, ListSlice } from '../domain/browsing.ts';
import type { Owner, Principal } from '../domain/principal.ts';
import type { Delivery, NewWebhook, StaleDataset, Webhook } from '../domain/webhook.ts';

/**
 * A message is written in the same step as what it tells: `Executions` writes those of runs, for each webhook that may be told at that
 * moment. When it is due, the catalog's clock tells.
 */
export interface Webhooks {
  /** @throws CatalogConflict when its owner or its query is unknown, the owner may not read the query, or has as many webhooks as any may */
  add(webhook: NewWebhook): Promise<Webhook>;
  find(id: string): Promise<Webhook | undefined>;
  /** Newest first. @param reader only those that it acts for @param slice all, when left out */
  list(reader?: Pick<Principal, 'owner' | 'teams'>, slice?: ListSlice): Promise<ListPage<Webhook>>;
  /** Removes it with its messages. @returns whether there was one */
  remove(id: string): Promise<boolean>;
  /** Ends it and the messages that wait. Does nothing when it is ended already. */
  disable(id: string, reason: string): Promise<void>;
  /** Whether there are any that are told something. */
  hasActive(): Promise<boolean>;

  /** Its messages, newest first. */
  listDeliveries(webhookId: string, slice: ListSlice): Promise<ListPage<Delivery>>;
  /** Messages whose next attempt is due, the longest due first: at most so many of each webhook. */
  listDue(ofEach: number): Promise<readonly DueDelivery[]>;
  /** What came of an attempt. Nothing happens where the message has ended, or its webhook is gone. */
  record(attempt: RecordedAttempt): Promise<void>;
  /** How many messages wait. */
  countWaiting(): Promise<number>;
  /** Forgets messages that ended at this time or before, and those of webhooks that are gone. */
  deleteUntil(instant: number): Promise<void>;

  /** Tells that a dataset has become stale: once for each of its results. @returns how many webhooks are told */
  tellStale(dataset: StaleDataset): Promise<number>;
}

export interface DueDelivery {
  readonly webhook: Pick<Webhook, 'id' | 'url' | 'secret'>;
  readonly eventId: string;
  /** JSON. */
  readonly payload: string;
  /** Those before this one. */
  readonly attempts: number;
  /** How long ago it was written. */
  readonly ageMillis: number;
}

export interface RecordedAttempt {
  readonly webhookId: string;
  readonly eventId: string;
  /** Of the answer, if there was one. */
  readonly status?: number;
  /** Absent: it was delivered. */
  readonly error?: string;
  /** Until the next attempt; absent: there will be none. */
  readonly retryInMillis?: number;
}

/** How many webhooks a user or a team may have. */
export const WEBHOOKS_MAX = 100;

export function tooManyWebhooks({ kind, name }: Owner): string {
  return `${kind} ${name} has ${WEBHOOKS_MAX} webhooks already, and that is the most`;
}
