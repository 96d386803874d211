/**
 * Executions: finding them, and taking them from state to state. Which state may follow which is in one table (domain/execution.ts). The
 * `where state in (…)` of every step makes sure that of two racing processes only one succeeds.
 */
import type { Kysely, Transaction, UpdateObject } from 'kysely';
import { type Execution, type ExecutionError, type ExecutionState, statesBefore } from '../../domain/execution.ts';
import type { Instant } from '../../domain/instant.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import {
  CatalogConflict,
  type Completion,
  type ExecutionFilter,
  type Executions,
  IllegalTransition,
  type Lease,
} from '../catalog.ts';
import { findLatest } from './latest-execution.ts';
import { spendLease } from './leases.ts';
import {
  deleteResultSet,
  findResultSet,
  hasResultSet,
  insertResultSet,
  listExpired,
  listResultSets,
} from './result-sets.ts';
import { type CatalogTables, executionOf } from './tables.ts';

type Changes = UpdateObject<CatalogTables, 'executions', 'executions'>;

export class KyselyExecutions implements Executions {
  readonly #db: Kysely<CatalogTables>;

  constructor(db: Kysely<CatalogTables>) {
    this.#db = db;
  }

  async add(execution: Execution): Promise<void> {
    await this.#db.transaction().execute(async (trx) => await insert(trx, execution, execution.submittedAt));
  }

  async find(id: string): Promise<Execution | undefined> {
    const row = await this.#db.selectFrom('executions').selectAll().where('id', '=', id).executeTakeFirst();
    return row === undefined ? undefined : executionOf(row);
  }

  async list(filter: ExecutionFilter): Promise<readonly Execution[]> {
    let runs = this.#db.selectFrom('executions').selectAll();
    if (filter.queryId !== undefined) runs = runs.where('query_id', '=', filter.queryId);
    if (filter.state !== undefined) {
      runs = runs.where('state', 'in', typeof filter.state === 'string' ? [filter.state] : filter.state);
    }
    const rows = await runs.orderBy('ordered_at', 'desc').orderBy('id', 'desc').limit(filter.limit).execute();
    return rows.map(executionOf);
  }

  async findLatest(
    queryId: number,
    parameters: Readonly<Record<string, string>>,
    now: Instant,
    except: readonly string[] = [],
  ): Promise<Execution | undefined> {
    return await findLatest(this.#db, queryId, parameters, now, except);
  }

  async queuePosition(execution: Execution): Promise<number> {
    const own = await this.#db
      .selectFrom('executions')
      .select('ordered_at')
      .where('id', '=', execution.id)
      .executeTakeFirst();
    const orderedAt = own?.ordered_at ?? execution.submittedAt;
    const { position } = await this.#db
      .selectFrom('executions')
      .select((eb) => eb.fn.countAll<number>().as('position'))
      .where('state', '=', 'PENDING')
      .where((eb) => eb(eb.refTuple('ordered_at', 'id'), '<=', eb.tuple(orderedAt, execution.id)))
      .executeTakeFirstOrThrow();
    return Number(position);
  }

  async start(id: string, at: Instant): Promise<Execution> {
    return await step(this.#db, id, 'EXECUTING', { started_at: at });
  }

  async fail(id: string, error: ExecutionError, at: Instant): Promise<Execution> {
    return await step(this.#db, id, 'FAILED', { ended_at: at, error: JSON.stringify(error) });
  }

  async cancel(id: string, at: Instant): Promise<Execution> {
    return await step(this.#db, id, 'CANCELLED', { cancelled_at: at });
  }

  async complete(id: string, completion: Completion, lease: Lease): Promise<Execution> {
    return await this.#db.transaction().execute(async (trx) => await finish(trx, id, completion, lease));
  }

  async addCompleted(execution: Execution, completion: Completion, lease: Lease): Promise<Execution> {
    return await this.#db.transaction().execute(async (trx) => {
      await insert(trx, execution, completion.endedAt);
      return await finish(trx, execution.id, completion, lease);
    });
  }

  async findResultSet(executionId: string): Promise<ResultSet | undefined> {
    return await findResultSet(this.#db, executionId);
  }

  async hasResultSet(id: string): Promise<boolean> {
    return await hasResultSet(this.#db, id);
  }

  async listStored(
    afterId: string,
    limit: number,
  ): Promise<readonly { readonly id: string; readonly resultSet: ResultSet }[]> {
    return await listResultSets(this.#db, afterId, limit);
  }

  async listExpired(now: Instant, limit: number): Promise<readonly Execution[]> {
    return await listExpired(this.#db, now, limit);
  }

  async expire(id: string): Promise<void> {
    await this.#db.transaction().execute(async (trx) => {
      await step(trx, id, 'EXPIRED', {});
      await deleteResultSet(trx, id);
    });
  }
}

/** Adds the execution as PENDING, whatever else is known of it. @param now by the clock of whoever adds it */
async function insert(trx: Transaction<CatalogTables>, execution: Execution, now: Instant): Promise<void> {
  const { id, queryId, parameters, submittedAt } = execution;
  const query = await trx.selectFrom('queries').select('id').where('id', '=', queryId).executeTakeFirst();
  if (query === undefined) throw new CatalogConflict(`there is no query ${queryId}`);
  const orderedAt = await placeInOrder(trx, execution, now);
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
}

/**
 * The key that orders runs: when they were submitted. If a run that was added before seems to have been submitted later than now, one of
 * the clocks is wrong and nobody knows which, so the order of the commits counts.
 */
async function placeInOrder(
  trx: Transaction<CatalogTables>,
  { queryId, submittedAt }: Execution,
  now: Instant,
): Promise<Instant> {
  const newest = await trx
    .selectFrom('executions')
    .select('ordered_at')
    .where('query_id', '=', queryId)
    .orderBy('ordered_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return newest !== undefined && newest.ordered_at > now ? newest.ordered_at + 1 : submittedAt;
}

/** The commit that makes a result exist: all of it or nothing. */
async function finish(
  trx: Transaction<CatalogTables>,
  id: string,
  completion: Completion,
  lease: Lease,
): Promise<Execution> {
  const { startedAt, endedAt, expiresAt, resultSet } = completion;
  await spendLease(trx, lease);
  // A pending run is started now. A running one keeps its start.
  await move(trx, id, 'EXECUTING', { started_at: startedAt });
  const execution = await step(trx, id, resultSet.truncated ? 'COMPLETED_PARTIAL' : 'COMPLETED', {
    ended_at: endedAt,
    expires_at: expiresAt,
  });
  await insertResultSet(trx, execution, expiresAt, resultSet);
  return execution;
}

/** @throws IllegalTransition when the run is not in a state from which `to` may be entered. */
async function step(db: Kysely<CatalogTables>, id: string, to: ExecutionState, changes: Changes): Promise<Execution> {
  const moved = await move(db, id, to, changes);
  if (moved !== undefined) return moved;
  const found = await db.selectFrom('executions').select('state').where('id', '=', id).executeTakeFirst();
  throw new IllegalTransition(id, found?.state, to);
}

async function move(
  db: Kysely<CatalogTables>,
  id: string,
  to: ExecutionState,
  changes: Changes,
): Promise<Execution | undefined> {
  const row = await db
    .updateTable('executions')
    .set({ ...changes, state: to })
    .where('id', '=', id)
    .where('state', 'in', statesBefore(to))
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? undefined : executionOf(row);
}
