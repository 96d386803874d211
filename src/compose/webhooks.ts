/** From the service's parts to what delivers webhooks. */
import { staleDatasetOf } from '../datasets/dataset-age.ts';
import type { WebhookAttempt } from '../domain/webhook.ts';
import { type DelivererDeps, deliverWebhooks } from '../webhooks/deliverer.ts';
import { poster } from '../webhooks/post.ts';
import type { Service } from './service.ts';

export interface WebhookEffects {
  /** Of the service: `1.2.3`. */
  readonly version: string;
  /** Names this process among those that share the catalog. */
  readonly owner: string;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly observe: (attempt: WebhookAttempt) => void;
  readonly onFault: (what: string, error: unknown) => void;
}

/** Until the signal is aborted. */
export async function runWebhooks(service: Service, effects: WebhookEffects, signal: AbortSignal): Promise<void> {
  await deliverWebhooks(await delivererOf(service, effects), signal);
}

async function delivererOf(service: Service, effects: WebhookEffects): Promise<DelivererDeps> {
  const { settings, clock, sleep, monotonic } = service;
  const { owner, version } = effects;
  const catalog = await service.catalog();
  return {
    ...effects,
    catalog,
    clock,
    sleep,
    monotonic,
    leases: { catalog, clock, sleep, owner, leaseMillis: settings.leaseMillis },
    post: poster({ allowsPrivate: settings.webhooksPrivate, version, sleep }),
    tellStale: async () => {
      for (const dataset of await service.datasets()) {
        const stale = await staleDatasetOf(dataset, catalog, clock());
        if (stale !== undefined) await catalog.webhooks.tellStale(stale);
      }
    },
  };
}
