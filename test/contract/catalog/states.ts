/**
 * Tries every pair of states through the catalog's methods. What the table of contract §3 allows happens; everything else is
 * refused.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Catalog, IllegalTransition, LeaseLost } from '../../../src/catalog/catalog.ts';
import { EXECUTION_STATES, type ExecutionState } from '../../../src/domain/execution.ts';
import {
  addFinished,
  type CatalogFactory,
  completion,
  executionId,
  NOON,
  openWithQuery,
  pendingRun,
  RESULT_SET,
} from './fixture.ts';

/** The table written out a second time, to hold the code's table to something. `complete` also starts a pending run. */
const ALLOWED: Readonly<Record<ExecutionState, readonly ExecutionState[]>> = {
  PENDING: ['EXECUTING', 'COMPLETED', 'COMPLETED_PARTIAL', 'FAILED', 'CANCELLED'],
  EXECUTING: ['COMPLETED', 'COMPLETED_PARTIAL', 'FAILED', 'CANCELLED'],
  COMPLETED: ['EXPIRED'],
  COMPLETED_PARTIAL: ['EXPIRED'],
  FAILED: [],
  CANCELLED: [],
  EXPIRED: [],
};

const ERROR = { type: 'syntax', message: 'no such table', line: 3, column: 9 };

export function statesContract(prepare: CatalogFactory): void {
  for (const from of EXECUTION_STATES) {
    for (const to of EXECUTION_STATES) {
      // No method makes a run PENDING again, so that row of the table is always empty.
      if (to === 'PENDING') continue;
      const allowed = ALLOWED[from].includes(to);
      test(`${from} → ${to}: ${allowed ? 'happens' : 'refused'}`, async (t) => {
        const catalog = await openWithQuery(prepare, t);
        const id = executionId(1);
        await bring(catalog, from);
        const before = await catalog.executions.find(id);
        assert.equal(before?.state, from);
        if (allowed) {
          await take(catalog, to);
          assert.equal((await catalog.executions.find(id))?.state, to);
          return;
        }
        const stored = await catalog.executions.findResultSet(id);
        await assert.rejects(take(catalog, to), (error: unknown) => {
          assert(error instanceof IllegalTransition);
          assert.equal(error.from, from);
          assert.equal(error.message, `execution ${id} is ${from}: it cannot become ${to}`);
          return true;
        });
        assert.deepEqual(await catalog.executions.find(id), before);
        assert.deepEqual(await catalog.executions.findResultSet(id), stored);
      });
    }
  }

  test('a run that does not exist changes no state', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    for (const to of EXECUTION_STATES.filter((state) => state !== 'PENDING')) {
      await assert.rejects(take(catalog, to), (error: unknown) => {
        assert(error instanceof IllegalTransition);
        assert.equal(error.from, undefined);
        assert.equal(error.message, `execution ${executionId(1)} does not exist`);
        return true;
      });
    }
  });

  test('each change of state records its time, and a failure its error', async (t) => {
    const { executions } = await openWithQuery(prepare, t);
    for (const number of [1, 2, 3]) await executions.add(pendingRun(number));
    const started = { ...pendingRun(1), state: 'EXECUTING', startedAt: NOON + 5 } as const;
    assert.deepEqual(await executions.start(executionId(1), NOON + 5), started);
    const failed = { ...started, state: 'FAILED', endedAt: NOON + 6, error: ERROR } as const;
    assert.deepEqual(await executions.fail(executionId(1), ERROR, NOON + 6), failed);
    assert.deepEqual(await executions.find(executionId(1)), failed);
    const short = { type: 'timeout', message: 'after 30 minutes' };
    assert.deepEqual((await executions.fail(executionId(2), short, NOON + 7)).error, short);
    assert.deepEqual(await executions.cancel(executionId(3), NOON + 8), {
      ...pendingRun(3),
      state: 'CANCELLED',
      cancelledAt: NOON + 8,
    });
  });

  test('a commit without its lease changes nothing', async (t) => {
    const { executions, leases, moveTo } = await openWithQuery(prepare, t);
    await executions.add(pendingRun(1));
    const lost = await leases.acquire('write:1', 'slow', 1000);
    assert(lost !== undefined);
    await moveTo(NOON + 1000);
    const taken = await leases.acquire('write:1', 'quick', 1000);
    assert(taken !== undefined);
    await assert.rejects(executions.complete(executionId(1), completion(), lost), LeaseLost);
    await assert.rejects(
      executions.addCompleted(pendingRun(2), completion(), lost, { clock: () => NOON + 200 }),
      LeaseLost,
    );
    assert.deepEqual(await executions.find(executionId(1)), pendingRun(1));
    assert.equal(await executions.find(executionId(2)), undefined);
    assert.deepEqual(await leases.list('write:'), [taken]);
    await executions.complete(executionId(1), completion(), taken);
    assert.deepEqual(await leases.list('write:'), [], 'the commit gives its lease back');
  });

  test('an expired lease that nobody took over still guards its commit', async (t) => {
    const { executions, leases } = await openWithQuery(prepare, t);
    await executions.add(pendingRun(1));
    const lease = await leases.acquire('write:1', 'slow', 1);
    assert(lease !== undefined);
    await executions.complete(executionId(1), completion({ endedAt: NOON + 5000 }), lease);
  });

  test('a refused commit keeps its lease', async (t) => {
    const { executions, leases } = await openWithQuery(prepare, t);
    await executions.add(pendingRun(1));
    await executions.cancel(executionId(1), NOON + 1);
    const lease = await leases.acquire('write:1', 'me', 1000);
    assert(lease !== undefined);
    await assert.rejects(executions.complete(executionId(1), completion(), lease), IllegalTransition);
    assert.deepEqual(await leases.list('write:'), [lease]);
  });
}

/** Makes run 1 and brings it to the state. */
async function bring(catalog: Catalog, state: ExecutionState): Promise<void> {
  const run = pendingRun(1);
  switch (state) {
    case 'COMPLETED':
    case 'COMPLETED_PARTIAL':
    case 'EXPIRED':
      await addFinished(catalog, run, { resultSet: { ...RESULT_SET, truncated: state === 'COMPLETED_PARTIAL' } });
      if (state === 'EXPIRED') await catalog.executions.expire(run.id);
      break;
    default:
      await catalog.executions.add(run);
      if (state !== 'PENDING') await take(catalog, state);
  }
}

/** Moves run 1 to the state, by the method that does so. */
async function take(catalog: Catalog, to: ExecutionState): Promise<void> {
  const id = executionId(1);
  switch (to) {
    case 'PENDING':
      throw new Error('no step leads back to PENDING');
    case 'EXECUTING':
      await catalog.executions.start(id, NOON + 10);
      break;
    case 'FAILED':
      await catalog.executions.fail(id, ERROR, NOON + 10);
      break;
    case 'CANCELLED':
      await catalog.executions.cancel(id, NOON + 10);
      break;
    case 'EXPIRED':
      await catalog.executions.expire(id);
      break;
    case 'COMPLETED':
    case 'COMPLETED_PARTIAL': {
      const lease = await catalog.leases.acquire(`write:${to}`, 'test', 1000);
      assert(lease !== undefined);
      const resultSet = { ...RESULT_SET, truncated: to === 'COMPLETED_PARTIAL' };
      try {
        await catalog.executions.complete(id, completion({ resultSet }), lease);
      } finally {
        await catalog.leases.release(lease);
      }
      break;
    }
    default:
      to satisfies never;
  }
}
