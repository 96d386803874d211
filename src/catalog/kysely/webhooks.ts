/** Webhooks and their messages. A message waits for its next attempt for as long as `next_at` is set. */
import { type Kysely, type Selectable, type SqlBool, sql, type Transaction } from 'kysely';
import type { ListPage, ListSlice } from '../../domain/browsing.ts';
import type { Principal } from '../../domain/principal.ts';
import type { Delivery, NewWebhook, StaleDataset, Webhook, WebhookEvent } from '../../domain/webhook.ts';
import { CatalogConflict } from '../catalog.ts';
import { type DueDelivery, type RecordedAttempt, tooManyWebhooks, WEBHOOKS_MAX, type Webhooks } from '../webhooks.ts';
import { after, type Now } from './now.ts';
import { requireOwner } from './principals.ts';
import { type CatalogTables, type DeliveryRow, ownerColumns, ownerOf, type WebhookRow } from './tables.ts';
import { claimTick } from './ticks.ts';
import { transact } from './transact.ts';
import { listListening, mayBeTold, tellStaleDataset } from './webhook-events.ts';

const DISABLED = 'the webhook was disabled before this was delivered';

export class KyselyWebhooks implements Webhooks {
  readonly #db: Kysely<CatalogTables>;
  readonly #now: Now;

  constructor(db: Kysely<CatalogTables>, now: Now) {
    this.#db = db;
    this.#now = now;
  }

  async add(webhook: NewWebhook): Promise<Webhook> {
    const { id, owner, url, queryId, events, secret, createdAt } = webhook;
    const columns = ownerColumns(owner);
    await transact(this.#db, async (trx) => {
      await requireOwner(trx, owner);
      const { count } = await ownedBy(trx, columns)
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      if (Number(count) >= WEBHOOKS_MAX) throw new CatalogConflict(tooManyWebhooks(owner));
      if (queryId !== undefined) await requireQuery(trx, queryId);
      await trx
        .insertInto('webhooks')
        .values({
          id,
          ...columns,
          url,
          query_id: queryId ?? null,
          events: JSON.stringify(events),
          secret,
          created_at: createdAt,
          disabled_at: null,
          disabled_reason: null,
        })
        .execute();
      if (queryId !== undefined && !(await mayReadItsQuery(trx, id))) {
        const whose = `${owner.kind} ${owner.name}`;
        throw new CatalogConflict(`query ${queryId} is private, and not for ${whose} to read: nothing would be told`);
      }
    });
    return webhook;
  }

  async find(id: string): Promise<Webhook | undefined> {
    const row = await this.#db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst();
    return row === undefined ? undefined : webhookOf(row);
  }

  async list(reader?: Pick<Principal, 'owner' | 'teams'>, slice?: ListSlice): Promise<ListPage<Webhook>> {
    const matching = this.#db
      .selectFrom('webhooks')
      .$if(reader !== undefined, (all) =>
        all.where((eb) =>
          eb.or([
            ...(reader?.owner.kind === 'user' ? [eb('user_name', '=', reader.owner.name)] : []),
            ...((reader?.teams.length ?? 0) > 0 ? [eb('team_name', 'in', reader?.teams ?? [])] : []),
          ]),
        ),
      );
    const { count } = await matching.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
    const rows = await matching
      .selectAll()
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .$if(slice !== undefined, (all) => all.limit(slice?.limit ?? 0).offset(slice?.offset ?? 0))
      .execute();
    return { items: rows.map(webhookOf), total: Number(count) };
  }

  async remove(id: string): Promise<boolean> {
    return await transact(this.#db, async (trx) => {
      await trx.deleteFrom('webhook_deliveries').where('webhook_id', '=', id).execute();
      const removed = await trx.deleteFrom('webhooks').where('id', '=', id).returning('id').executeTakeFirst();
      return removed !== undefined;
    });
  }

  async disable(id: string, reason: string): Promise<void> {
    const now = this.#now();
    await transact(this.#db, async (trx) => {
      await trx
        .updateTable('webhooks')
        .set({ disabled_at: now, disabled_reason: reason })
        .where('id', '=', id)
        .where('disabled_at', 'is', null)
        .execute();
      await trx
        .updateTable('webhook_deliveries')
        .set({ next_at: null, ended_at: now, error: DISABLED })
        .where('webhook_id', '=', id)
        .where('next_at', 'is not', null)
        .execute();
    });
  }

  async hasActive(): Promise<boolean> {
    const active = this.#db.selectFrom('webhooks').select('id').where('disabled_at', 'is', null).limit(1);
    return (await active.executeTakeFirst()) !== undefined;
  }

  async listDeliveries(webhookId: string, { limit, offset }: ListSlice): Promise<ListPage<Delivery>> {
    const matching = this.#db.selectFrom('webhook_deliveries').where('webhook_id', '=', webhookId);
    const { count } = await matching.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
    const newestFirst = matching.selectAll().orderBy('created_at', 'desc').orderBy('event_id', 'desc');
    const rows = await newestFirst.limit(limit).offset(offset).execute();
    return { items: rows.map(deliveryOf), total: Number(count) };
  }

  async listDue(ofEach: number): Promise<readonly DueDelivery[]> {
    const now = this.#now();
    const placed = this.#db
      .selectFrom('webhook_deliveries as due')
      .innerJoin('webhooks', 'webhooks.id', 'due.webhook_id')
      .select((eb) => [
        'due.event_id',
        'due.payload',
        'due.attempts',
        'due.next_at',
        'webhooks.id',
        'webhooks.url',
        'webhooks.secret',
        sql<number>`${now} - ${eb.ref('due.created_at')}`.as('age'),
        sql<number>`row_number() over (partition by due.webhook_id order by due.next_at, due.event_id)`.as('place'),
      ])
      .where((eb) => sql<SqlBool>`${eb.ref('due.next_at')} <= ${now}`)
      .where('webhooks.disabled_at', 'is', null);
    const rows = await this.#db
      .selectFrom(placed.as('placed'))
      .selectAll()
      .where('place', '<=', ofEach)
      .orderBy('place')
      .orderBy('next_at')
      .execute();
    return rows.map(({ id, url, secret, event_id, payload, attempts, age }) => ({
      webhook: { id, url, secret },
      eventId: event_id,
      payload,
      attempts,
      ageMillis: Number(age),
    }));
  }

  async record({ webhookId, eventId, status, error, retryInMillis }: RecordedAttempt): Promise<void> {
    const now = this.#now();
    const isLast = error === undefined || retryInMillis === undefined;
    await this.#db
      .updateTable('webhook_deliveries')
      .set((eb) => ({
        attempts: eb('attempts', '+', 1),
        attempted_at: now,
        status: status ?? null,
        error: error ?? null,
        delivered: error === undefined ? 1 : 0,
        next_at: isLast ? null : after(now, retryInMillis),
        ended_at: isLast ? now : null,
      }))
      .where('webhook_id', '=', webhookId)
      .where('event_id', '=', eventId)
      .where('next_at', 'is not', null)
      .execute();
  }

  async countWaiting(): Promise<number> {
    const { count } = await this.#db
      .selectFrom('webhook_deliveries')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('next_at', 'is not', null)
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  async deleteUntil(instant: number): Promise<void> {
    await this.#db
      .deleteFrom('webhook_deliveries')
      .where((eb) =>
        eb.or([
          eb('ended_at', '<=', instant),
          eb('webhook_id', 'not in', eb.selectFrom('webhooks').select('webhooks.id')),
        ]),
      )
      .execute();
  }

  async tellStale(dataset: StaleDataset): Promise<number> {
    const { queryId, startedAt } = dataset;
    const listening = async (db: Kysely<CatalogTables>) => (await listListening(db, queryId, 'dataset.stale')).ids;
    // Asked first without a turn to write: a dataset that is stale is found so again and again.
    if ((await listening(this.#db)).length === 0) return 0;
    return await transact(this.#db, async (trx) => {
      const ids = await listening(trx);
      if (ids.length === 0 || !(await claimTick(trx, `stale:${queryId}`, startedAt, this.#now))) return 0;
      return await tellStaleDataset(trx, dataset, ids, this.#now);
    });
  }
}

function ownedBy(trx: Transaction<CatalogTables>, owner: ReturnType<typeof ownerColumns>) {
  const all = trx.selectFrom('webhooks');
  return owner.user_name === null
    ? all.where('team_name', '=', owner.team_name)
    : all.where('user_name', '=', owner.user_name);
}

async function requireQuery(trx: Transaction<CatalogTables>, queryId: number): Promise<void> {
  const query = await trx.selectFrom('queries').select('id').where('id', '=', queryId).executeTakeFirst();
  if (query === undefined) throw new CatalogConflict(`there is no query ${queryId}`);
}

async function mayReadItsQuery(trx: Transaction<CatalogTables>, id: string): Promise<boolean> {
  const row = await trx
    .selectFrom('webhooks')
    .innerJoin('queries', 'queries.id', 'webhooks.query_id')
    .select('webhooks.id')
    .where('webhooks.id', '=', id)
    .where(mayBeTold)
    .executeTakeFirst();
  return row !== undefined;
}

function webhookOf(row: WebhookRow): Webhook {
  const { id, url, query_id, events, secret, created_at, disabled_at, disabled_reason } = row;
  return {
    id,
    owner: ownerOf(row),
    url,
    ...(query_id !== null && { queryId: query_id }),
    events: JSON.parse(events) as readonly WebhookEvent[],
    secret,
    createdAt: created_at,
    ...(disabled_at !== null && { disabled: { at: disabled_at, reason: disabled_reason ?? '' } }),
  };
}

function deliveryOf(row: Selectable<DeliveryRow>): Delivery {
  const { attempted_at, status, error, next_at, ended_at } = row;
  return {
    eventId: row.event_id,
    type: row.type,
    occurredAt: row.occurred_at,
    state: next_at !== null ? 'waiting' : row.delivered === 1 ? 'delivered' : 'failed',
    attempts: row.attempts,
    ...(attempted_at !== null && { lastAttemptAt: attempted_at }),
    ...(status !== null && { lastStatus: status }),
    ...(error !== null && { lastError: error }),
    ...(next_at !== null && { nextAttemptAt: next_at }),
    ...(ended_at !== null && { endedAt: ended_at }),
  };
}
