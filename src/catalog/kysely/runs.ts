/**
 * The queue of runs: a row for each, beside its execution; a trigger deletes it when the execution ends. A claim is the run's write
 * lease, taken in the same step that makes the run EXECUTING.
 */
import type { Kysely, Transaction } from 'kysely';
import type { Execution } from '../../domain/execution.ts';
import type { Instant } from '../../domain/instant.ts';
import type { ParameterValue } from '../../domain/parameter-values.ts';
import { writeResource } from '../../domain/written-names.ts';
import type { ClaimedRun, ClaimRequest, Enqueued, Lease, NewRun, Runs, WaitingLimits } from '../catalog.ts';
import { insertExecution, startExecution } from './execution-steps.ts';
import { acquireLease, endLease, latestEnd } from './leases.ts';
import { type CatalogTables, executionOf } from './tables.ts';
import { claimTick } from './ticks.ts';
import { transact } from './transact.ts';

const WRITE = writeResource('');

export class KyselyRuns implements Runs {
  readonly #db: Kysely<CatalogTables>;

  constructor(db: Kysely<CatalogTables>) {
    this.#db = db;
  }

  async enqueue(run: NewRun, limits: WaitingLimits): Promise<Enqueued> {
    return await transact(this.#db, async (trx) => {
      const { tick, execution } = run;
      const same = run.identity === undefined ? undefined : await findSame(trx, run.identity);
      // Before the tick is claimed, so that a tick that finds no place stays free.
      const refusal = same === undefined ? await refuse(trx, run, limits) : undefined;
      if (refusal !== undefined) return { kind: refusal };
      if (tick !== undefined && same?.state === 'EXECUTING') return { kind: 'running' };
      if (tick !== undefined && !(await claimTick(trx, tick.schedule, tick.at, execution.submittedAt))) {
        return { kind: 'tick_claimed' };
      }
      if (same !== undefined) return { kind: 'joined', execution: same };
      const orderedAt = await insertExecution(trx, run.execution, run.execution.submittedAt);
      await trx
        .insertInto('run_queue')
        .values({
          execution_id: run.execution.id,
          ordered_at: orderedAt,
          key_id: run.keyId ?? null,
          identity: run.identity ?? null,
          query_sql: run.sql,
          parameter_values: JSON.stringify(run.values),
          claims: 0,
        })
        .execute();
      return { kind: 'added', execution: run.execution };
    });
  }

  async claim(request: ClaimRequest): Promise<ClaimedRun | undefined> {
    // Read first, outside of a write transaction, since every process asks all the time.
    if ((await nextRun(this.#db, request)) === undefined) return undefined;
    return await transact(this.#db, async (trx) => {
      const row = await nextRun(trx, request);
      if (row === undefined) return undefined;
      const { owner, now, leaseMillis: millis } = request;
      const lease = await acquireLease(trx, { resource: writeResource(row.execution_id), owner, now, millis });
      if (lease === undefined) return undefined;
      const execution = await startExecution(trx, row.execution_id, now);
      const claims = row.claims + 1;
      await trx.updateTable('run_queue').set({ claims }).where('execution_id', '=', row.execution_id).execute();
      return {
        execution,
        sql: row.query_sql,
        values: JSON.parse(row.parameter_values) as readonly ParameterValue[],
        ...(row.key_id !== null && { keyId: row.key_id }),
        ...(row.identity !== null && { identity: row.identity }),
        lease,
        claims,
      };
    });
  }

  async giveBack(lease: Lease): Promise<boolean> {
    return await transact(this.#db, async (trx) => {
      if (!(await endLease(trx, lease))) return false;
      await trx
        .updateTable('run_queue')
        .set((eb) => ({ claims: eb('claims', '-', 1) }))
        .where('execution_id', '=', lease.resource.slice(WRITE.length))
        .execute();
      return true;
    });
  }

  async has(executionId: string): Promise<boolean> {
    return await isQueued(this.#db, executionId);
  }

  async count(): Promise<{ readonly waiting: number; readonly running: number }> {
    const rows = await this.#db
      .selectFrom('run_queue')
      .innerJoin('executions', 'executions.id', 'run_queue.execution_id')
      .select((eb) => ['executions.state', eb.fn.countAll<number>().as('count')])
      .groupBy('executions.state')
      .execute();
    const of = (state: string) => Number(rows.find((row) => row.state === state)?.count ?? 0);
    return { waiting: of('PENDING'), running: of('EXECUTING') };
  }
}

export async function isQueued(db: Kysely<CatalogTables>, executionId: string): Promise<boolean> {
  const row = await db
    .selectFrom('run_queue')
    .select('execution_id')
    .where('execution_id', '=', executionId)
    .executeTakeFirst();
  return row !== undefined;
}

/** The place of a pending run in the queue. */
export async function queuePosition(db: Kysely<CatalogTables>, execution: Execution): Promise<number> {
  const own = await db
    .selectFrom('executions')
    .leftJoin('run_queue', 'run_queue.execution_id', 'executions.id')
    .select(['executions.ordered_at', 'run_queue.execution_id as queued'])
    .where('executions.id', '=', execution.id)
    .executeTakeFirst();
  const orderedAt = own?.ordered_at ?? execution.submittedAt;
  const isQueued = own !== undefined && own.queued !== null;
  const { position } = await db
    .selectFrom('executions')
    .leftJoin('run_queue', 'run_queue.execution_id', 'executions.id')
    .select((eb) => eb.fn.countAll<number>().as('position'))
    .where('executions.state', '=', 'PENDING')
    .where('run_queue.execution_id', isQueued ? 'is not' : 'is', null)
    .where((eb) => eb(eb.refTuple('executions.ordered_at', 'executions.id'), '<=', eb.tuple(orderedAt, execution.id)))
    .executeTakeFirstOrThrow();
  return Number(position);
}

async function findSame(trx: Transaction<CatalogTables>, identity: string): Promise<Execution | undefined> {
  const row = await trx
    .selectFrom('executions')
    .innerJoin('run_queue', 'run_queue.execution_id', 'executions.id')
    .selectAll('executions')
    .where('run_queue.identity', '=', identity)
    .executeTakeFirst();
  return row === undefined ? undefined : executionOf(row);
}

async function refuse(
  trx: Transaction<CatalogTables>,
  { keyId, execution: { submittedAt } }: NewRun,
  { waitingMax, waitingOfKeyMax }: WaitingLimits,
): Promise<'too_many' | 'too_many_of_key' | undefined> {
  if (keyId === undefined) return undefined;
  // By its lease, not by its state: a run that was given back waits again, and is still EXECUTING.
  const { waiting, ofKey } = await unheld(trx, submittedAt)
    .select((eb) => [
      eb.fn.countAll<number>().as('waiting'),
      eb.fn.countAll<number>().filterWhere('run_queue.key_id', '=', keyId).as('ofKey'),
    ])
    .executeTakeFirstOrThrow();
  if (Number(ofKey) >= waitingOfKeyMax) return 'too_many_of_key';
  return Number(waiting) >= waitingMax ? 'too_many' : undefined;
}

/** The first run in the queue whose lease is free, of a key that has fewer than so many running. */
async function nextRun(db: Kysely<CatalogTables>, { now, runningOfKeyMax, only }: ClaimRequest) {
  const free = unheld(db, now)
    .selectAll('run_queue')
    .where((eb) =>
      eb.or([
        eb('run_queue.key_id', 'is', null),
        eb('run_queue.key_id', 'not in', saturated(db, now, runningOfKeyMax)),
      ]),
    )
    .orderBy('run_queue.ordered_at')
    .orderBy('run_queue.execution_id')
    .limit(1);
  return await (only === undefined ? free : free.where('run_queue.execution_id', '=', only)).executeTakeFirst();
}

/** Runs whose lease nobody holds. */
function unheld(db: Kysely<CatalogTables>, now: Instant) {
  return db
    .selectFrom('run_queue')
    .leftJoin('leases', (join) =>
      join
        .on((eb) => eb('leases.resource', '=', eb(eb.val(WRITE), '||', eb.ref('run_queue.execution_id'))))
        .on('leases.expires_at', '>', now)
        .on('leases.expires_at', '<=', latestEnd(now)),
    )
    .where('leases.resource', 'is', null);
}

/** The keys with so many runs running. The subquery refers to nothing outside, so the database evaluates it once, not for each run. */
function saturated(db: Kysely<CatalogTables>, now: Instant, runningOfKeyMax: number) {
  return db
    .selectFrom('run_queue as other')
    .innerJoin('leases as held', (join) =>
      join
        .on((on) => on('held.resource', '=', on(on.val(WRITE), '||', on.ref('other.execution_id'))))
        .on('held.expires_at', '>', now)
        .on('held.expires_at', '<=', latestEnd(now)),
    )
    .select('other.key_id')
    .where('other.key_id', 'is not', null)
    .groupBy('other.key_id')
    .having((eb) => eb.fn.countAll<number>(), '>=', runningOfKeyMax);
}
