/** Adds executions and changes their states, within the caller's transaction. */
import type { Kysely, Transaction, UpdateObject } from 'kysely';
import { type Execution, type ExecutionState, statesBefore } from '../../domain/execution.ts';
import type { Instant } from '../../domain/instant.ts';
import { CatalogConflict, IllegalTransition, QueryArchived } from '../catalog.ts';
import { type CatalogTables, executionOf } from './tables.ts';

type Changes = UpdateObject<CatalogTables, 'executions', 'executions'>;

/**
 * Adds the execution as PENDING.
 * @param now by the clock of whoever adds it
 * @param after what the newest run was ordered by when this one was submitted, where that is longer ago
 * @returns what it is ordered by
 */
export async function insertExecution(
  trx: Transaction<CatalogTables>,
  execution: Execution,
  now: Instant,
  after?: Instant,
): Promise<Instant> {
  const { id, queryId, parameters, submittedAt } = execution;
  const query = await trx.selectFrom('queries').select('is_archived').where('id', '=', queryId).executeTakeFirst();
  if (query === undefined) throw new CatalogConflict(`there is no query ${queryId}`);
  if (query.is_archived === 1) throw new QueryArchived(queryId);
  const orderedAt = await placeInOrder(trx, execution, now, after);
  const added = await trx
    .insertInto('executions')
    .values({
      id,
      query_id: queryId,
      parameters: JSON.stringify(parameters),
      state: 'PENDING',
      submitted_at: submittedAt,
      ordered_at: orderedAt,
      started_at: null,
      ended_at: null,
      cancelled_at: null,
      expires_at: null,
      error: null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  if (added === undefined) throw new CatalogConflict(`there is an execution ${id} already`);
  for (const [name, value] of Object.entries(parameters)) {
    await trx
      .insertInto('execution_parameters')
      .values({ execution_id: id, name, value, query_id: queryId, ordered_at: orderedAt })
      .execute();
  }
  return orderedAt;
}

/**
 * The key that orders runs: the time of submission. If a run that was added earlier has a later time than now, one of the clocks is wrong;
 * then the order of the commits counts. The same holds if a run that was there when this one was submitted seems to be later.
 */
async function placeInOrder(
  trx: Transaction<CatalogTables>,
  { queryId, submittedAt }: Execution,
  now: Instant,
  after: Instant | undefined,
): Promise<Instant> {
  const newest = await findNewestPlace(trx, queryId);
  if (newest !== undefined && newest > now) return newest + 1;
  return after !== undefined && after >= submittedAt ? after + 1 : submittedAt;
}

export async function findNewestPlace(db: Kysely<CatalogTables>, queryId: number): Promise<Instant | undefined> {
  const newest = await db
    .selectFrom('executions')
    .select('ordered_at')
    .where('query_id', '=', queryId)
    .orderBy('ordered_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return newest?.ordered_at;
}

/** @throws IllegalTransition when the run is not in a state from which `to` may be entered. */
export async function step(
  db: Kysely<CatalogTables>,
  id: string,
  to: ExecutionState,
  changes: Changes,
): Promise<Execution> {
  const moved = await move(db, id, to, changes);
  if (moved !== undefined) return moved;
  throw await illegal(db, id, to);
}

/**
 * As `step`, for a step that ends the run. The same statement says whether there are any webhooks, so that without them no further statement is
 * needed.
 * @throws IllegalTransition
 */
export async function end(
  db: Kysely<CatalogTables>,
  id: string,
  to: ExecutionState,
  changes: Changes,
): Promise<{ readonly execution: Execution; readonly hasWebhooks: boolean }> {
  const row = await moving(db, id, to, changes)
    .returning((eb) =>
      eb.exists(eb.selectFrom('webhooks').select('webhooks.id').where('disabled_at', 'is', null)).as('has_webhooks'),
    )
    .executeTakeFirst();
  if (row === undefined) throw await illegal(db, id, to);
  return { execution: executionOf(row), hasWebhooks: Boolean(row.has_webhooks) };
}

async function illegal(db: Kysely<CatalogTables>, id: string, to: ExecutionState): Promise<IllegalTransition> {
  const found = await db.selectFrom('executions').select('state').where('id', '=', id).executeTakeFirst();
  return new IllegalTransition(id, found?.state, to);
}

export async function move(
  db: Kysely<CatalogTables>,
  id: string,
  to: ExecutionState,
  changes: Changes,
): Promise<Execution | undefined> {
  const row = await moving(db, id, to, changes).executeTakeFirst();
  return row === undefined ? undefined : executionOf(row);
}

function moving(db: Kysely<CatalogTables>, id: string, to: ExecutionState, changes: Changes) {
  return db
    .updateTable('executions')
    .set({ ...changes, state: to })
    .where('id', '=', id)
    .where('state', 'in', statesBefore(to))
    .returningAll();
}

/** PENDING → EXECUTING; a run that is EXECUTING already stays as it is. @throws IllegalTransition */
export async function startExecution(trx: Transaction<CatalogTables>, id: string, at: Instant): Promise<Execution> {
  const row = await trx
    .selectFrom('executions')
    .selectAll()
    .where('id', '=', id)
    .where('state', '=', 'EXECUTING')
    .executeTakeFirst();
  return row === undefined ? await step(trx, id, 'EXECUTING', { started_at: at }) : executionOf(row);
}
