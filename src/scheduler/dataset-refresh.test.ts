/** Refreshes of datasets that do not end well: with their process, or with an error. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { at, LEASE_MILLIS, Process, QUARTERLY, states, world } from '../../test/schedule-world.ts';
import { columnsOf } from '../datasets/dataset.ts';
import { EngineError } from '../engine/engine.ts';

describe('a process that ends in the middle of a refresh', () => {
  /** A process that does not renew its lease, and the function that ends its refresh later. */
  async function beginAndStall() {
    const process = new Process('a', { runs: { sleep: () => new Promise(() => {}) } });
    const begun = process.hold();
    await process.look();
    return { process, ...(await begun) };
  }

  test('another runs the same run once the lease has expired, exactly one', async () => {
    await beginAndStall();
    const others = [new Process('b'), new Process('c')];
    world.time.advance(LEASE_MILLIS - 1);
    for (const process of others) await process.turn();
    assert.deepEqual(await states(), ['EXECUTING']);
    world.time.advance(1);
    await Promise.all(others.map((process) => process.turn()));
    await Promise.all(others.map((process) => process.turn()));
    assert.deepEqual(await states(), ['COMPLETED']);
    const events = others.flatMap((process) => process.events);
    assert.deepEqual(
      events.map(({ kind, dataset, ...event }) => [kind, dataset, 'claims' in event ? event.claims : undefined]),
      [
        ['started', 'quarterly', 2],
        ['completed', 'quarterly', undefined],
      ],
    );
  });

  test('another runs it at once when the process is known to be dead', async () => {
    await beginAndStall();
    await new Process('b', { runs: { isLeaseOwnerDead: (owner) => owner === 'a' } }).turn();
    assert.deepEqual(await states(), ['COMPLETED']);
  });

  test('if it only slept, its late result is refused', async () => {
    const { process, finish } = await beginAndStall();
    world.time.advance(LEASE_MILLIS);
    const b = new Process('b');
    await b.turn();
    const lost = process.next('lost');
    finish();
    await lost;
    assert.deepEqual(
      [process.kinds(), b.kinds()],
      [
        ['started', 'lost'],
        ['started', 'completed'],
      ],
    );
    assert.deepEqual(await states(), ['COMPLETED']);
  });

  test('if it was stopped, its run is given back, and the next process takes it up at once', async () => {
    const controller = new AbortController();
    const a = new Process('a', { signal: controller.signal });
    const begun = a.hold();
    await a.look();
    await begun;
    controller.abort();
    await a.runner.drained();
    assert.deepEqual([a.kinds(), await states()], [['started', 'given_back'], ['EXECUTING']]);
    await new Process('b').turn();
    assert.deepEqual(await states(), ['COMPLETED']);
  });
});

describe('a failed refresh', () => {
  test('puts its error on the execution, leaves the last good one served, and is tried again at the next tick', async () => {
    const a = new Process('a');
    await a.turn();
    const good = await world.catalog.executions.findLatest(QUARTERLY.queryId, {}, world.time.clock());
    a.work = async () => {
      throw new EngineError('syntax_error', 'no such column', { line: 3, column: 7 });
    };
    world.time.moveTo(at('10:15'));
    await a.turn();
    await a.turn();
    assert.deepEqual(await states(), ['COMPLETED', 'FAILED']);
    const [latest] = await world.catalog.executions.list({ queryId: QUARTERLY.queryId, limit: 1 });
    assert.deepEqual(latest?.error, { type: 'syntax_error', message: 'no such column', line: 3, column: 7 });
    const served = await world.catalog.executions.findLatest(QUARTERLY.queryId, {}, world.time.clock());
    assert.equal(served?.id, good?.id);
    world.time.moveTo(at('10:30'));
    await a.turn();
    assert.equal((await states()).length, 3);
  });

  test('when the columns are not those declared', async () => {
    const a = new Process('a');
    a.work = async () => ({ columns: columnsOf({ n: 'varchar' }), rowCount: 1 });
    await a.turn();
    const [latest] = await world.catalog.executions.list({ queryId: QUARTERLY.queryId, limit: 1 });
    assert.deepEqual(latest?.error, {
      type: 'column_mismatch',
      message: 'dataset quarterly: column 1: found n varchar, expected n bigint',
    });
  });

  test('that fails with an unexpected error: the execution does not tell it, the event does', async () => {
    const cause = new Error('/secret/path is full');
    const a = new Process('a', { runs: { publish: () => Promise.reject(cause) } });
    await a.turn();
    const event = a.events.at(-1);
    assert.ok(event?.kind === 'failed');
    assert.equal(event.error.type, 'internal_error');
    assert.doesNotMatch(event.error.message, /secret/);
    assert.equal(event.cause, cause);
  });
});

test('a refresh finds a place however many runs wait, and describes the moment at which it runs', async () => {
  const a = new Process('a');
  const { catalog, time } = world;
  await catalog.principals.addUser('ann', 0);
  await catalog.queries.add({ id: 7, owner: { kind: 'user', name: 'ann' }, visibility: 'public' }, 0);
  const theirs = { id: 7, sql: 'SELECT 1 AS n', parameters: [], isArchived: false };
  for (let i = 0; i < 10; i += 1) await a.queue.submit({ query: theirs, parameters: {}, keyId: 'ann' });
  await assert.rejects(a.queue.submit({ query: theirs, parameters: {}, keyId: 'bob' }), { code: 'overloaded' });
  await a.schedule.runDue(new AbortController().signal);
  assert.deepEqual(await states(), ['PENDING']);
  time.moveTo(at('10:09'));
  for (let turn = 0; turn < 11; turn += 1) await a.turn();
  assert.deepEqual([await states(), await states(7)], [['COMPLETED'], Array(10).fill('COMPLETED')]);
});
