/** Webhooks over HTTP: adding and removing them (contract §11). */
import type { Webhooks } from '../../catalog/catalog.ts';
import { actsFor, type Principal } from '../../domain/principal.ts';
import { WEBHOOK_EVENTS, WEBHOOK_URL_LENGTH_MAX, type Webhook } from '../../domain/webhook.ts';
import { RequestError } from '../../errors/errors.ts';
import type { RandomBytes } from '../../keys/create-key.ts';
import { addWebhook } from '../../webhooks/add-webhook.ts';
import { type AddressRules, EXPECTED_URL, urlProblem } from '../../webhooks/public-address.ts';
import { webhookRecord } from '../../webhooks/webhook-record.ts';
import { readableQuery } from './authorize.ts';
import { bad, integer, list, oneOf, type ReadField, readFields, required, text } from './fields.ts';
import { type JsonHandler, jsonWrite, type WriteDeps, type WriteRoute } from './write-request.ts';

export interface WebhookWritesDeps extends WriteDeps {
  readonly randomBytes: RandomBytes;
  /** Which addresses they may have. */
  readonly webhookRules: AddressRules;
}

export function webhookWrites(deps: WebhookWritesDeps): readonly WriteRoute[] {
  return [
    jsonWrite('POST', '/webhooks', 'write', adding(deps)),
    jsonWrite('DELETE', '/webhooks/:id', 'write', removing),
  ];
}

/** The secret is only in the answer, and not in what is kept of it under an idempotency key. */
function adding({ clock, randomBytes, webhookRules }: WebhookWritesDeps): JsonHandler {
  return async ({ body, commit, stats }) => {
    const fields = readFields(await body(), {
      url: addressed(webhookRules),
      query_id: integer(1, Number.MAX_SAFE_INTEGER),
      events: EVENTS,
    });
    const url = required(fields.url, 'url');
    const { query_id: queryId, events } = fields;
    return await commit(async (transaction, principal) => {
      if (queryId !== undefined) {
        await readableQuery(transaction, principal, String(queryId));
        stats.queryId = queryId;
      }
      const terms = {
        owner: principal.owner,
        url,
        ...(queryId !== undefined && { queryId }),
        ...(events !== undefined && { events }),
      };
      const added = await addWebhook(transaction.webhooks, terms, clock(), randomBytes);
      const kept = webhookRecord(added);
      return { status: 201, body: { ...kept, secret: added.secret }, kept };
    });
  };
}

const removing: JsonHandler = async ({ path, body, commit }) => {
  readFields(await body(), {});
  return await commit(async ({ webhooks }, principal) => {
    const { id } = await ownWebhook(webhooks, principal, path.id ?? '');
    await webhooks.remove(id);
    return { status: 200, body: { success: true } };
  });
};

/** A webhook of its owner, of a team of his, or any for an administrator's key. @throws RequestError webhook_not_found */
export async function ownWebhook(webhooks: Pick<Webhooks, 'find'>, principal: Principal, id: string): Promise<Webhook> {
  const webhook = await webhooks.find(id);
  if (webhook !== undefined && (principal.scope === 'admin' || actsFor(principal, webhook.owner))) return webhook;
  throw new RequestError('webhook_not_found', 'not found: Webhook not found, or not yours');
}

/** What is refused is not repeated: it may hold a password. */
function addressed(rules: AddressRules): ReadField<string> {
  return (value, name) => {
    const address = text(1, WEBHOOK_URL_LENGTH_MAX)(value, name);
    const problem = urlProblem(address, rules);
    if (problem === undefined) return address;
    throw new RequestError('invalid_body', `${name}: found ${problem}, expected ${EXPECTED_URL}`);
  };
}

const EVENTS: ReadField<readonly (typeof WEBHOOK_EVENTS)[number][]> = (value, name) => {
  const events = list(oneOf(WEBHOOK_EVENTS), WEBHOOK_EVENTS.length)(value, name);
  if (events.length === 0) throw bad(name, value, `at least one of ${WEBHOOK_EVENTS.join(', ')}`);
  return events;
};
