/** `GET /v1/webhooks`, one of them, and what became of its messages. Addresses may hold secrets, so keys that only read do not see them. */
import type { FastifyInstance } from 'fastify';
import type { Webhooks } from '../../catalog/catalog.ts';
import { deliveryRecord, webhookRecord } from '../../webhooks/webhook-record.ts';
import { listBody, sliceOf } from '../browsing/list-parameters.ts';
import { addressOf } from '../client-url.ts';
import { jsonRoute } from '../json-route.ts';
import { requireScope } from './authorize.ts';
import { ownWebhook } from './webhook-writes.ts';

export function webhookViews(
  server: FastifyInstance,
  prefix: string,
  webhooks: Webhooks,
  publicUrl: string | undefined,
): void {
  jsonRoute(server, `${prefix}/webhooks`, async (request, principal, parameters) => {
    requireScope(principal, 'write');
    const slice = sliceOf(parameters);
    const found = await webhooks.list(principal.scope === 'admin' ? undefined : principal, slice);
    const page = { ...found, items: found.items.map(webhookRecord) };
    return listBody('webhooks', page, slice, parameters, addressOf(request, publicUrl));
  });
  jsonRoute(server, `${prefix}/webhooks/:id`, async (request, principal) => {
    requireScope(principal, 'write');
    return webhookRecord(await ownWebhook(webhooks, principal, idOf(request.params)));
  });
  jsonRoute(server, `${prefix}/webhooks/:id/deliveries`, async (request, principal, parameters) => {
    requireScope(principal, 'write');
    const { id } = await ownWebhook(webhooks, principal, idOf(request.params));
    const slice = sliceOf(parameters);
    const found = await webhooks.listDeliveries(id, slice);
    const page = { ...found, items: found.items.map(deliveryRecord) };
    return listBody('deliveries', page, slice, parameters, addressOf(request, publicUrl));
  });
}

function idOf(params: unknown): string {
  return (params as { readonly id?: string }).id ?? '';
}
