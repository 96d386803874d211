/**
 * Executions: finding them, and taking them from state to state. Which state may follow which is in one table (domain/execution.ts). The
 * `where state in (…)` of every step makes sure that of two racing processes only one succeeds.
 */
import type { Kysely, Transaction } from 'kysely';
import type { Execution, ExecutionError, ExecutionState } from '../../domain/execution.ts';
import type { Instant } from '../../domain/instant.ts';
import type { ResultSet } from '../../domain/result-set.ts';
import {
  type Completion,
  type ExecutionFilter,
  type Executions,
  IllegalTransition,
  type Lease,
  RUN_BY_ENGINE,
  type Submission,
} from '../catalog.ts';
import { end, findNewestPlace, insertExecution, move, step } from './execution-steps.ts';
import { findLatest } from './latest-execution.ts';
import { spendLease } from './leases.ts';
import type { Now } from './now.ts';
import {
  deleteResultSet,
  findResultSet,
  hasResultSet,
  insertResultSet,
  listExpired,
  listResultSets,
} from './result-sets.ts';
import { queuedState, queuePosition } from './runs.ts';
import { type CatalogTables, executionOf } from './tables.ts';
import { transact } from './transact.ts';
import { tellExecution } from './webhook-events.ts';

export class KyselyExecutions implements Executions {
  readonly #db: Kysely<CatalogTables>;
  readonly #now: Now;

  /** @param now the clock that messages of webhooks go by */
  constructor(db: Kysely<CatalogTables>, now: Now) {
    this.#db = db;
    this.#now = now;
  }

  async add(execution: Execution): Promise<void> {
    await transact(this.#db, async (trx) => await insertExecution(trx, execution, execution.submittedAt));
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
    return await queuePosition(this.#db, execution);
  }

  async start(id: string, at: Instant): Promise<Execution> {
    return await transact(this.#db, async (trx) => {
      await requireUnqueued(trx, id, 'EXECUTING');
      return await step(trx, id, 'EXECUTING', { started_at: at });
    });
  }

  async fail(id: string, error: ExecutionError, at: Instant, lease?: Lease): Promise<Execution> {
    return await transact(this.#db, async (trx) => {
      if (lease === undefined) await requireUnqueued(trx, id, 'FAILED');
      else await spendLease(trx, lease);
      const changes = { ended_at: at, error: JSON.stringify(error) };
      const { execution, hasWebhooks } = await end(trx, id, 'FAILED', changes);
      if (hasWebhooks) await tellExecution(trx, execution, this.#now);
      return execution;
    });
  }

  async cancel(id: string, at: Instant): Promise<Execution> {
    return await step(this.#db, id, 'CANCELLED', { cancelled_at: at });
  }

  async complete(id: string, completion: Completion, lease: Lease): Promise<Execution> {
    return await transact(this.#db, async (trx) => await finish(trx, id, completion, lease, this.#now));
  }

  async addCompleted(
    execution: Execution,
    completion: Completion,
    lease: Lease,
    { clock, after }: Submission,
  ): Promise<Execution> {
    return await transact(this.#db, async (trx) => {
      // Not when it ended: others may have been submitted, finished and committed since, while this commit waited for its turn.
      await insertExecution(trx, execution, clock(), after);
      return await finish(trx, execution.id, completion, lease, this.#now);
    });
  }

  async findNewestPlace(queryId: number): Promise<Instant | undefined> {
    return await findNewestPlace(this.#db, queryId);
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

  async expireAt(id: string, at: Instant): Promise<void> {
    await transact(this.#db, async (trx) => {
      const results = trx.updateTable('result_sets').set({ expires_at: at }).where('execution_id', '=', id);
      const { numUpdatedRows } = await results.where('expires_at', '>', at).executeTakeFirst();
      if (numUpdatedRows === 0n) return;
      await trx.updateTable('executions').set({ expires_at: at }).where('id', '=', id).execute();
    });
  }

  async expire(id: string): Promise<void> {
    await transact(this.#db, async (trx) => {
      await step(trx, id, 'EXPIRED', {});
      await deleteResultSet(trx, id);
    });
  }
}

/** A run that has ended is in the queue no more, and its state says why the step is refused. */
async function requireUnqueued(trx: Transaction<CatalogTables>, id: string, to: ExecutionState): Promise<void> {
  const from = await queuedState(trx, id);
  if (from !== undefined) throw new IllegalTransition(id, from, to, RUN_BY_ENGINE);
}

/** The commit that makes a result exist: all of it or nothing. */
async function finish(
  trx: Transaction<CatalogTables>,
  id: string,
  completion: Completion,
  lease: Lease,
  now: Now,
): Promise<Execution> {
  const { startedAt, endedAt, expiresAt, resultSet } = completion;
  await spendLease(trx, lease);
  // A pending run is started now. A running one keeps its start.
  await move(trx, id, 'EXECUTING', { started_at: startedAt });
  const { execution, hasWebhooks } = await end(trx, id, resultSet.truncated ? 'COMPLETED_PARTIAL' : 'COMPLETED', {
    ended_at: endedAt,
    expires_at: expiresAt,
  });
  await insertResultSet(trx, execution, expiresAt, resultSet);
  if (hasWebhooks) await tellExecution(trx, execution, now, resultSet);
  return execution;
}
