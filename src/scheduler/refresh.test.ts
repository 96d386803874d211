/** Refreshes that do not end well: with their process, or with an error. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { at, LEASE_MILLIS, Process, QUARTERLY, running, states, world } from '../../test/schedule-world.ts';
import { columnsOf } from '../datasets/dataset.ts';
import { EngineError } from '../engine/engine.ts';
import { refreshNow } from './schedule.ts';

describe('a process that ends in the middle of a refresh', () => {
  /** A process that does not renew its lease, and the function that ends its refresh later. */
  async function beginAndStall() {
    const process = new Process('a', { sleep: () => new Promise(() => {}) });
    const begun = process.hold();
    void process.schedule.runDue(running);
    return { process, ...(await begun) };
  }

  test('another refreshes once the lease has expired, exactly one, and fails the run that was left', async () => {
    await beginAndStall();
    const others = [new Process('b'), new Process('c')];
    world.time.advance(LEASE_MILLIS - 1);
    for (const { schedule } of others) await schedule.runDue(running);
    assert.deepEqual(await states(), ['EXECUTING']);
    world.time.advance(1);
    await Promise.all(others.map(({ schedule }) => schedule.runDue(running)));
    await Promise.all(others.map(({ schedule }) => schedule.runDue(running)));
    assert.deepEqual(await states(), ['FAILED', 'COMPLETED']);
    const [, orphan] = await world.catalog.executions.list({ queryId: QUARTERLY.queryId, limit: 2 });
    assert.equal(orphan?.error?.type, 'interrupted');
  });

  test('another refreshes at once when the process is known to be dead', async () => {
    await beginAndStall();
    await new Process('b', { isLeaseOwnerDead: (owner) => owner === 'a' }).schedule.runDue(running);
    assert.deepEqual(await states(), ['FAILED', 'COMPLETED']);
  });

  test('if it only slept, its late result is refused', async () => {
    const { process, finish } = await beginAndStall();
    world.time.advance(LEASE_MILLIS);
    await new Process('b').schedule.runDue(running);
    const failed = process.next('failed');
    finish();
    await failed;
    assert.deepEqual(await states(), ['FAILED', 'COMPLETED']);
  });

  test('if it was stopped, its run is cancelled, and the next process refreshes at once', async () => {
    const controller = new AbortController();
    const a = new Process('a');
    const begun = a.hold();
    const ended = a.schedule.runDue(controller.signal);
    await begun;
    controller.abort();
    await ended;
    assert.deepEqual([a.events, await states()], [['started', 'interrupted'], ['CANCELLED']]);
    await new Process('b').schedule.runDue(running);
    assert.deepEqual(await states(), ['CANCELLED', 'COMPLETED']);
  });
});

describe('a failed refresh', () => {
  test('has its error on the execution, leaves the last good result served, and is tried again at the next tick', async () => {
    const a = new Process('a');
    await a.schedule.runDue(running);
    const good = await world.catalog.executions.findLatest(QUARTERLY.queryId, {}, world.time.clock());
    a.work = async () => {
      throw new EngineError('syntax_error', 'no such column', { line: 3, column: 7 });
    };
    world.time.moveTo(at('10:15'));
    await a.schedule.runDue(running);
    await a.schedule.runDue(running);
    assert.deepEqual(await states(), ['COMPLETED', 'FAILED']);
    const [latest] = await world.catalog.executions.list({ queryId: QUARTERLY.queryId, limit: 1 });
    assert.deepEqual(latest?.error, { type: 'syntax_error', message: 'no such column', line: 3, column: 7 });
    const served = await world.catalog.executions.findLatest(QUARTERLY.queryId, {}, world.time.clock());
    assert.equal(served?.id, good?.id);
    world.time.moveTo(at('10:30'));
    await a.schedule.runDue(running);
    assert.equal((await states()).length, 3);
  });

  test('fails when the columns are not those declared', async () => {
    const a = new Process('a');
    a.work = async () => ({ columns: columnsOf({ n: 'varchar' }), rowCount: 1 });
    const outcome = await refreshNow(QUARTERLY, a.deps, running);
    assert.ok(outcome?.kind === 'failed');
    assert.deepEqual(outcome.error, {
      type: 'column_mismatch',
      message: 'column 1: found n varchar, expected n bigint',
    });
  });

  test('fails with an unexpected error: the execution does not tell it, the outcome does', async () => {
    const cause = new Error('/secret/path is full');
    const a = new Process('a', { publish: () => Promise.reject(cause) });
    const outcome = await refreshNow(QUARTERLY, a.deps, running);
    assert.ok(outcome?.kind === 'failed');
    assert.equal(outcome.error.type, 'internal_error');
    assert.doesNotMatch(outcome.error.message, /secret/);
    assert.equal(outcome.cause, cause);
  });
});
