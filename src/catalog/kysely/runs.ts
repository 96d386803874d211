/**
 * The queue of runs: a row for each, beside its execution; a trigger deletes it when the execution ends. A claim is the run's write
 * lease, taken in the same step that makes the run EXECUTING.
 */
import type { Expression, Kysely, Transaction } from 'kysely';
import type { Execution, ExecutionState } from '../../domain/execution.ts';
import { executionOfWriter, LEASE_KINDS, writeResource } from '../../domain/lease-names.ts';
import type { ParameterValue } from '../../domain/parameter-values.ts';
import type { RunProgress } from '../../domain/run-progress.ts';
import {
  type ClaimedRun,
  type ClaimRequest,
  type Enqueued,
  IllegalTransition,
  type Lease,
  type NewRun,
  type Runs,
  type WaitingLimits,
} from '../catalog.ts';
import { insertExecution, startExecution } from './execution-steps.ts';
import { acquireLease, endLease, isHeld } from './leases.ts';
import type { Now } from './now.ts';
import { type CatalogTables, executionOf, type LeaseProgress } from './tables.ts';
import { claimTick } from './ticks.ts';
import { transact } from './transact.ts';

/** So many runs in a row may be cancelled while they are being claimed. */
const CLAIM_ATTEMPTS_MAX = 5;

export class KyselyRuns implements Runs {
  readonly #db: Kysely<CatalogTables>;

  readonly #now: Now;

  constructor(db: Kysely<CatalogTables>, now: Now) {
    this.#db = db;
    this.#now = now;
  }

  async enqueue(run: NewRun, limits: WaitingLimits): Promise<Enqueued> {
    return await transact(this.#db, async (trx) => {
      const { tick } = run;
      const same = run.identity === undefined ? undefined : await findSame(trx, run.identity);
      // Before the tick is claimed: what finds no place is asked for again.
      const refusal = same === undefined ? await refuse(trx, run, limits, this.#now()) : undefined;
      if (refusal !== undefined) return { kind: refusal };
      if (tick !== undefined && same?.state === 'EXECUTING') return { kind: 'running' };
      if (tick !== undefined && !(await claimTick(trx, tick.schedule, tick.at, this.#now))) {
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
    for (let attempt = 1; ; attempt += 1) {
      // Asked first without a turn to write, since every process asks all the time.
      if ((await nextRun(this.#db, request, this.#now())) === undefined) return undefined;
      try {
        return await transact(this.#db, async (trx) => await claimNext(trx, request, this.#now));
      } catch (error) {
        // It was cancelled after it was found: another is the next.
        if (!(error instanceof IllegalTransition) || attempt === CLAIM_ATTEMPTS_MAX) throw error;
      }
    }
  }

  async giveBack(lease: Lease): Promise<boolean> {
    return await transact(this.#db, async (trx) => {
      if (!(await endLease(trx, lease))) return false;
      await trx
        .updateTable('run_queue')
        .set((eb) => ({ claims: eb('claims', '-', 1) }))
        .where('execution_id', '=', executionOfWriter(lease))
        .execute();
      return true;
    });
  }

  async has(executionId: string): Promise<boolean> {
    return await isQueued(this.#db, executionId);
  }

  async findProgress(executionId: string): Promise<RunProgress | undefined> {
    const lease = await this.#db
      .selectFrom('leases')
      .select(['token', 'progress'])
      .where('resource', '=', writeResource(executionId))
      .where((eb) => isHeld(eb.ref('expires_at'), this.#now()))
      .executeTakeFirst();
    if (lease === undefined || lease.progress === null) return undefined;
    const { token, progress } = JSON.parse(lease.progress) as LeaseProgress;
    return token === lease.token ? progress : undefined;
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

async function claimNext(
  trx: Transaction<CatalogTables>,
  request: ClaimRequest,
  now: Now,
): Promise<ClaimedRun | undefined> {
  const row = await nextRun(trx, request, now());
  if (row === undefined) return undefined;
  const { owner, at, leaseMillis: millis } = request;
  const lease = await acquireLease(trx, { resource: writeResource(row.execution_id), owner, millis }, now);
  if (lease === undefined) return undefined;
  const execution = await startExecution(trx, row.execution_id, at);
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
}

async function isQueued(db: Kysely<CatalogTables>, executionId: string): Promise<boolean> {
  const row = await db
    .selectFrom('run_queue')
    .select('execution_id')
    .where('execution_id', '=', executionId)
    .executeTakeFirst();
  return row !== undefined;
}

/** The state of a run that is in the queue; undefined when it is not. One statement, since a run may end between two. */
export async function queuedState(db: Kysely<CatalogTables>, executionId: string): Promise<ExecutionState | undefined> {
  const row = await db
    .selectFrom('run_queue')
    .innerJoin('executions', 'executions.id', 'run_queue.execution_id')
    .select('executions.state')
    .where('run_queue.execution_id', '=', executionId)
    .executeTakeFirst();
  return row?.state;
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
  { keyId }: NewRun,
  { waitingMax, waitingOfKeyMax }: WaitingLimits,
  now: Expression<number>,
): Promise<'too_many' | 'too_many_of_key' | undefined> {
  if (keyId === undefined) return undefined;
  // By who has it, not by its state: one that was given back is waiting again.
  const { waiting, ofKey } = await unheld(trx, now)
    .select((eb) => [
      eb.fn.countAll<number>().as('waiting'),
      eb.fn.countAll<number>().filterWhere('run_queue.key_id', '=', keyId).as('ofKey'),
    ])
    .executeTakeFirstOrThrow();
  if (Number(ofKey) >= waitingOfKeyMax) return 'too_many_of_key';
  return Number(waiting) >= waitingMax ? 'too_many' : undefined;
}

/** The first in the queue whose lease is not held, of a key with fewer than so many held. */
async function nextRun(db: Kysely<CatalogTables>, { runningOfKeyMax, only }: ClaimRequest, now: Expression<number>) {
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

/** What nobody runs at the moment. */
function unheld(db: Kysely<CatalogTables>, now: Expression<number>) {
  return db
    .selectFrom('run_queue')
    .leftJoin('leases', (join) =>
      join
        .on((eb) => eb('leases.resource', '=', eb(eb.val(LEASE_KINDS.write), '||', eb.ref('run_queue.execution_id'))))
        .on((eb) => isHeld(eb.ref('leases.expires_at'), now)),
    )
    .where('leases.resource', 'is', null);
}

/** The keys with so many runs running. It refers to nothing outside, so that it is worked out once, and not for each run. */
function saturated(db: Kysely<CatalogTables>, now: Expression<number>, runningOfKeyMax: number) {
  return db
    .selectFrom('run_queue as other')
    .innerJoin('leases as held', (join) =>
      join
        .on((on) => on('held.resource', '=', on(on.val(LEASE_KINDS.write), '||', on.ref('other.execution_id'))))
        .on((on) => isHeld(on.ref('held.expires_at'), now)),
    )
    .select('other.key_id')
    .where('other.key_id', 'is not', null)
    .groupBy('other.key_id')
    .having((eb) => eb.fn.countAll<number>(), '>=', runningOfKeyMax);
}
