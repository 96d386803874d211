/** Webhooks: adding, listing and removing them, and what became of their messages (contract §11). */
import { WEBHOOK_EVENTS, WEBHOOK_URL_LENGTH_MAX } from '../../domain/webhook.ts';
import { errorResponses } from './error-responses.ts';
import { pathItem } from './path-item.ts';
import { extended, type Fragment, INSTANT, listOf, object, openObject, QUERY_ID, refTo, TEXT } from './schema.ts';
import { answered, pathParameter, written } from './writing-operations.ts';

const TAG = 'Webhooks';
const LIST = ['listLimit', 'listOffset'].map((name) => refTo('parameters', name));
const EVENT: Fragment = { type: 'string', enum: WEBHOOK_EVENTS };
const URL: Fragment = { type: 'string', format: 'uri', maxLength: WEBHOOK_URL_LENGTH_MAX };

const WEBHOOK_FIELDS = openObject(
  {
    id: TEXT,
    user: TEXT,
    team: TEXT,
    url: URL,
    query_id: QUERY_ID,
    events: { type: 'array', items: EVENT },
    state: { type: 'string', enum: ['active', 'disabled'] },
    disabled_at: INSTANT,
    disabled_reason: TEXT,
    created_at: INSTANT,
  },
  ['user', 'team', 'query_id', 'disabled_at', 'disabled_reason'],
);

export const WEBHOOK_SCHEMAS: Readonly<Record<string, Fragment>> = {
  WebhookFields: WEBHOOK_FIELDS,
  Webhook: extended('WebhookFields', {}),
  NewWebhook: object(
    {
      url: { ...URL, description: 'http or https, without user and password, at a public address.' },
      query_id: { ...QUERY_ID, description: 'It is told of this query; of all queries of its owner, when absent.' },
      events: { type: 'array', items: EVENT, minItems: 1, description: 'What it is told; everything, when absent.' },
    },
    ['query_id', 'events'],
  ),
  CreatedWebhook: extended(
    'WebhookFields',
    {
      secret: {
        type: 'string',
        description: 'What its messages are signed with. Shown this once, not again under an idempotency key.',
      },
    },
    ['secret'],
  ),
  Delivery: object(
    {
      event_id: { type: 'string', description: 'The header `webhook-id`, the same in all attempts.' },
      type: EVENT,
      occurred_at: INSTANT,
      state: { type: 'string', enum: ['waiting', 'delivered', 'failed'] },
      attempts: { type: 'integer', minimum: 0 },
      last_attempt_at: INSTANT,
      last_status: { type: 'integer', description: 'Of the answer to the last attempt, if there was one.' },
      last_error: TEXT,
      next_attempt_at: INSTANT,
      ended_at: INSTANT,
    },
    ['last_attempt_at', 'last_status', 'last_error', 'next_attempt_at', 'ended_at'],
  ),
};

export function webhookPaths(): Readonly<Record<string, Fragment>> {
  const id = [pathParameter('id')];
  return {
    '/v1/webhooks': {
      ...pathItem({
        operationId: 'getWebhooks',
        tags: [TAG],
        summary: 'The webhooks of the key’s user and teams',
        description: 'Newest first; to keys that may administer, all.',
        parameters: LIST,
        responses: { 200: answered(listOf('webhooks', refTo('schemas', 'Webhook'))), ...errorResponses('webhook') },
      }),
      post: written({
        operationId: 'addWebhook',
        tag: TAG,
        kind: 'webhookWriting',
        summary: 'Add a webhook',
        description:
          'Messages are signed and sent as Standard Webhooks says: `webhook-id`, `webhook-timestamp` and `webhook-signature`.',
        body: 'NewWebhook',
        status: 201,
        answer: 'CreatedWebhook',
      }),
    },
    '/v1/webhooks/{id}': {
      ...pathItem(
        {
          operationId: 'getWebhook',
          tags: [TAG],
          summary: 'A webhook',
          responses: { 200: answered(refTo('schemas', 'Webhook')), ...errorResponses('webhook') },
        },
        { parameters: id },
      ),
      delete: written({
        operationId: 'removeWebhook',
        tag: TAG,
        kind: 'webhookWriting',
        summary: 'Remove a webhook, and its messages',
        status: 200,
        answer: 'Done',
      }),
    },
    '/v1/webhooks/{id}/deliveries': pathItem(
      {
        operationId: 'getWebhookDeliveries',
        tags: [TAG],
        summary: 'The messages of a webhook, and what became of them',
        description: 'Newest first. Those that have ended are kept for a week.',
        parameters: LIST,
        responses: {
          200: answered(listOf('deliveries', refTo('schemas', 'Delivery'))),
          ...errorResponses('webhook'),
        },
      },
      { parameters: id },
    ),
  };
}
