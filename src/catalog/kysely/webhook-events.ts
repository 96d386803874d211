/**
 * Writes what webhooks are told, within the transaction that brings it about: a commit that fails tells nothing, and one that succeeds is
 * told.
 */
import { type Expression, type ExpressionBuilder, type Kysely, type SqlBool, sql, type Transaction } from 'kysely';
import { type Execution, formatState } from '../../domain/execution.ts';
import { formatInstant, type Instant } from '../../domain/instant.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import { type StaleDataset, toldError, type WebhookEvent } from '../../domain/webhook.ts';
import { type Now, readNow } from './now.ts';
import type { CatalogTables } from './tables.ts';

type Both = ExpressionBuilder<CatalogTables, 'webhooks' | 'queries'>;

/** A run has ended, completed or failed. */
export async function tellExecution(
  trx: Transaction<CatalogTables>,
  execution: Execution,
  now: Now,
  resultSet?: ResultSet,
): Promise<void> {
  const { id, queryId, state, submittedAt, startedAt, endedAt = submittedAt, expiresAt, error } = execution;
  const type = state === 'FAILED' ? 'execution.failed' : 'execution.completed';
  const { ids, queryName } = await listListening(trx, queryId, type);
  if (ids.length === 0) return;
  const data = {
    query_id: queryId,
    ...(queryName !== null && { query_name: queryName }),
    execution_id: id,
    state: formatState(state),
    submitted_at: formatInstant(submittedAt),
    ...(startedAt !== undefined && { execution_started_at: formatInstant(startedAt) }),
    execution_ended_at: formatInstant(endedAt),
    ...(expiresAt !== undefined && { expires_at: formatInstant(expiresAt) }),
    ...(resultSet !== undefined && { row_count: resultSet.rowCount, bytes: resultSet.cellBytes }),
    ...(error !== undefined && { error: toldError(error) }),
  };
  await insertDeliveries(trx, ids, { id: `msg_${id}`, type, at: endedAt, data }, now);
}

/** @returns to how many webhooks */
export async function tellStaleDataset(
  trx: Transaction<CatalogTables>,
  dataset: StaleDataset,
  ids: readonly string[],
  now: Now,
): Promise<number> {
  const at = await readNow(trx, now);
  const data = {
    query_id: dataset.queryId,
    dataset: dataset.name,
    execution_id: dataset.executionId,
    execution_started_at: formatInstant(dataset.startedAt),
    age_seconds: Math.floor(dataset.ageMillis / 1000),
    refreshed_every_seconds: Math.floor(dataset.periodMillis / 1000),
  };
  const id = `msg_stale_${dataset.executionId}`;
  return await insertDeliveries(trx, ids, { id, type: 'dataset.stale', at, data }, now);
}

/** The webhooks that are told this of the query, as things stand now. */
export async function listListening(
  db: Kysely<CatalogTables>,
  queryId: number,
  type: WebhookEvent,
): Promise<{ readonly ids: readonly string[]; readonly queryName: string | null }> {
  const rows = await db
    .selectFrom('webhooks')
    .innerJoin('queries', (join) => join.on('queries.id', '=', queryId))
    .select(['webhooks.id', 'queries.name'])
    .where('webhooks.disabled_at', 'is', null)
    .where(sql<SqlBool>`instr(webhooks.events, ${JSON.stringify(type)}) > 0`)
    .where((eb) =>
      eb.or([eb('webhooks.query_id', '=', queryId), eb.and([eb('webhooks.query_id', 'is', null), isOwners(eb)])]),
    )
    .where(mayBeTold)
    .execute();
  return { ids: rows.map(({ id }) => id), queryName: rows[0]?.name ?? null };
}

/** The rule of `mayRead` for the owner of a webhook, in SQL. */
export function mayBeTold(eb: Both): Expression<SqlBool> {
  const isMember = eb.exists(
    eb
      .selectFrom('team_members')
      .select('team_members.team_name')
      .whereRef('team_members.team_name', '=', 'queries.team_name')
      .whereRef('team_members.user_name', '=', 'webhooks.user_name'),
  );
  return eb.or([eb('queries.visibility', '=', 'public'), isOwners(eb), isMember]);
}

function isOwners(eb: Both): Expression<SqlBool> {
  return eb.or([
    eb('webhooks.user_name', '=', eb.ref('queries.user_name')),
    eb('webhooks.team_name', '=', eb.ref('queries.team_name')),
  ]);
}

interface Message {
  readonly id: string;
  readonly type: WebhookEvent;
  readonly at: Instant;
  readonly data: object;
}

async function insertDeliveries(
  trx: Transaction<CatalogTables>,
  ids: readonly string[],
  { id, type, at, data }: Message,
  now: Now,
): Promise<number> {
  const payload = JSON.stringify({ type, timestamp: formatInstant(at), data });
  const message = { event_id: id, type, payload, occurred_at: at, created_at: now(), next_at: now() };
  let told = 0;
  for (const webhookId of ids) {
    const added = await trx
      .insertInto('webhook_deliveries')
      .values({ webhook_id: webhookId, ...message })
      .onConflict((conflict) => conflict.doNothing())
      .returning('webhook_id')
      .executeTakeFirst();
    if (added !== undefined) told += 1;
  }
  return told;
}
