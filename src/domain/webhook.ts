/** Webhooks: addresses that are told what happens to queries (contract §11), and what became of telling them. */
import type { ExecutionError } from './execution.ts';
import type { Instant } from './instant.ts';
import type { Owner } from './principal.ts';

export const WEBHOOK_EVENTS = ['execution.completed', 'execution.failed', 'dataset.stale'] as const;

export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** The longest address of a webhook, in characters. */
export const WEBHOOK_URL_LENGTH_MAX = 2000;

export interface NewWebhook {
  readonly id: string;
  /** Whose it is. It is told what this user or team may read at the time. */
  readonly owner: Owner;
  readonly url: string;
  /** Absent: it is told of all queries of its owner. */
  readonly queryId?: number;
  /** What it is told. */
  readonly events: readonly WebhookEvent[];
  /** What its messages are signed with. */
  readonly secret: string;
  readonly createdAt: Instant;
}

export interface Webhook extends NewWebhook {
  /** It is told nothing more. */
  readonly disabled?: { readonly at: Instant; readonly reason: string };
}

/** Where a message goes: it waits for its next attempt, or has ended. */
export type DeliveryState = 'waiting' | 'delivered' | 'failed';

/** A message to one webhook, and what has come of it. */
export interface Delivery {
  /** The same in all attempts, and for all webhooks that are told the same. */
  readonly eventId: string;
  readonly type: WebhookEvent;
  readonly occurredAt: Instant;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly lastAttemptAt?: Instant;
  /** Of the last attempt, where it was answered. */
  readonly lastStatus?: number;
  /** Why the last attempt failed, or why there will be no more. */
  readonly lastError?: string;
  readonly nextAttemptAt?: Instant;
  readonly endedAt?: Instant;
}

/** What came of an attempt; `given_up`: it was the last. */
export interface WebhookAttempt {
  readonly outcome: 'delivered' | 'failed' | 'given_up';
  readonly webhookId: string;
  readonly eventId: string;
  readonly error?: string;
}

/** That a dataset has become stale. */
export interface StaleDataset {
  readonly queryId: number;
  readonly name: string;
  /** Its latest result. */
  readonly executionId: string;
  readonly startedAt: Instant;
  readonly ageMillis: number;
  /** How far its refreshes are apart. */
  readonly periodMillis: number;
}

/** The error of a run as it is told: what else is known of it is for those who ask. */
export function toldError({ type, message }: ExecutionError): object {
  return { type, message };
}
