/** Webhooks and their messages as they are told in JSON: without the secret. */
import { formatInstant } from '../domain/instant.ts';
import type { Delivery, Webhook } from '../domain/webhook.ts';

export function webhookRecord({ id, owner, url, queryId, events, createdAt, disabled }: Webhook) {
  return {
    id,
    [owner.kind]: owner.name,
    url,
    ...(queryId !== undefined && { query_id: queryId }),
    events,
    state: disabled === undefined ? 'active' : 'disabled',
    ...(disabled !== undefined && {
      disabled_at: formatInstant(disabled.at),
      disabled_reason: disabled.reason,
    }),
    created_at: formatInstant(createdAt),
  };
}

export function deliveryRecord(delivery: Delivery): object {
  const { eventId, type, occurredAt, state, attempts, lastStatus, lastError } = delivery;
  const { lastAttemptAt, nextAttemptAt, endedAt } = delivery;
  return {
    event_id: eventId,
    type,
    occurred_at: formatInstant(occurredAt),
    state,
    attempts,
    ...(lastAttemptAt !== undefined && { last_attempt_at: formatInstant(lastAttemptAt) }),
    ...(lastStatus !== undefined && { last_status: lastStatus }),
    ...(lastError !== undefined && { last_error: lastError }),
    ...(nextAttemptAt !== undefined && { next_attempt_at: formatInstant(nextAttemptAt) }),
    ...(endedAt !== undefined && { ended_at: formatInstant(endedAt) }),
  };
}
