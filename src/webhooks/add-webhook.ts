/** Adding a webhook. Its secret is shown now, and not again. */
import type { Webhooks } from '../catalog/catalog.ts';
import type { Instant } from '../domain/instant.ts';
import { formatKeyId, KEY_ID_BYTES } from '../domain/key.ts';
import { type NewWebhook, WEBHOOK_EVENTS, type Webhook, type WebhookEvent } from '../domain/webhook.ts';
import { makeSecret } from './secret.ts';

export interface WebhookTerms extends Pick<NewWebhook, 'owner' | 'url' | 'queryId'> {
  /** All, when left out. */
  readonly events?: readonly WebhookEvent[];
}

/** @param terms with a url of which `urlProblem` says nothing @throws CatalogConflict as `Webhooks.add` does */
export async function addWebhook(
  webhooks: Pick<Webhooks, 'add'>,
  terms: WebhookTerms,
  now: Instant,
  randomBytes: (length: number) => Uint8Array,
): Promise<Webhook> {
  const { owner, url, queryId, events = WEBHOOK_EVENTS } = terms;
  return await webhooks.add({
    id: formatKeyId(randomBytes(KEY_ID_BYTES)),
    owner,
    // In the form in which requests will name it.
    url: new URL(url).href,
    ...(queryId !== undefined && { queryId }),
    events: WEBHOOK_EVENTS.filter((event) => events.includes(event)),
    secret: makeSecret(randomBytes),
    createdAt: now,
  });
}
