/** Adding, finding and listing runs, and their result sets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogConflict } from '../../../src/catalog/catalog.ts';
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

export function executionsContract(prepare: CatalogFactory): void {
  test('a run is found as it was added, its parameters included', async (t) => {
    const { executions } = await openWithQuery(prepare, t);
    const run = pendingRun(1, { parameters: { chain: 'base', wallet: "0x6a' or 1=1 --", note: 'ünï ☂' } });
    await executions.add(run);
    assert.deepEqual(await executions.find(run.id), run);
    assert.equal(await executions.find(executionId(2)), undefined);
  });

  test('a run needs an id of its own and an existing query', async (t) => {
    const { executions } = await openWithQuery(prepare, t);
    await executions.add(pendingRun(1));
    await assert.rejects(executions.add(pendingRun(1)), CatalogConflict);
    await assert.rejects(executions.add(pendingRun(2, { queryId: 8 })), /there is no query 8$/);
    assert.equal(await executions.find(executionId(2)), undefined);
  });

  test('lists are newest first, ties by id, for a query or a state, and end at their limit', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    await catalog.queries.add({ id: 8, owner: { kind: 'user', name: 'ann' }, visibility: 'public' }, NOON);
    await catalog.executions.add(pendingRun(2, { submittedAt: NOON }));
    await catalog.executions.add(pendingRun(3, { submittedAt: NOON }));
    await catalog.executions.add(pendingRun(4, { submittedAt: NOON + 5, queryId: 8 }));
    await catalog.executions.add(pendingRun(1, { submittedAt: NOON + 9 }));
    await catalog.executions.start(executionId(2), NOON + 20);
    const list = async (filter: { queryId?: number; state?: 'PENDING' | 'EXECUTING'; limit?: number }) =>
      (await catalog.executions.list({ limit: 10, ...filter })).map((run) => Number(run.id.slice(4)));
    assert.deepEqual(await list({}), [1, 4, 3, 2]);
    assert.deepEqual(await list({ queryId: 7 }), [1, 3, 2]);
    assert.deepEqual(await list({ state: 'PENDING' }), [1, 4, 3]);
    assert.deepEqual(await list({ queryId: 7, state: 'EXECUTING' }), [2]);
    assert.deepEqual(await list({ limit: 2 }), [1, 4]);
  });

  test('a pending run has its place in the queue, first come first', async (t) => {
    const { executions } = await openWithQuery(prepare, t);
    const runs = [3, 1, 2].map((number) => pendingRun(number, { submittedAt: NOON }));
    runs.push(pendingRun(0, { submittedAt: NOON + 1 }));
    for (const run of runs) await executions.add(run);
    const places = async () => await Promise.all(runs.map(async (run) => await executions.queuePosition(run)));
    assert.deepEqual(await places(), [3, 1, 2, 4]);
    await executions.start(executionId(3), NOON + 20);
    assert.deepEqual((await places()).slice(1), [1, 2, 3]);
  });

  test('a finished run has its result set', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const run = pendingRun(1, { parameters: { chain: 'base' } });
    const finished = await addFinished(catalog, run);
    assert.deepEqual(finished, {
      ...run,
      state: 'COMPLETED',
      startedAt: NOON + 100,
      endedAt: NOON + 200,
      expiresAt: NOON + 10_000,
    });
    assert.deepEqual(await catalog.executions.find(run.id), finished);
    assert.deepEqual(await catalog.executions.findResultSet(run.id), RESULT_SET);
    assert.equal(await catalog.executions.hasResultSet(run.id), true);
  });

  test('a truncated result set makes the run COMPLETED_PARTIAL', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const resultSet = { ...RESULT_SET, truncated: true };
    const finished = await addFinished(catalog, pendingRun(1), { resultSet });
    assert.equal(finished.state, 'COMPLETED_PARTIAL');
    assert.deepEqual(await catalog.executions.findResultSet(executionId(1)), resultSet);
  });

  test('a run that was started keeps its own start', async (t) => {
    const { executions, leases } = await openWithQuery(prepare, t);
    await executions.add(pendingRun(1));
    await executions.start(executionId(1), NOON + 50);
    const lease = await leases.acquire('write:1', 'me', 1000);
    assert(lease !== undefined);
    const finished = await executions.complete(executionId(1), completion(), lease);
    assert.equal(finished.startedAt, NOON + 50);
  });

  test('a finished run that is refused is not added at all', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    await catalog.executions.add(pendingRun(1));
    await assert.rejects(addFinished(catalog, pendingRun(1)), CatalogConflict);
    await assert.rejects(addFinished(catalog, pendingRun(2, { queryId: 8 })), CatalogConflict);
    assert.equal((await catalog.executions.find(executionId(1)))?.state, 'PENDING');
    assert.equal(await catalog.executions.find(executionId(2)), undefined);
  });

  test('a run that is not finished, unknown or expired has no result set', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    await catalog.executions.add(pendingRun(1));
    await addFinished(catalog, pendingRun(2));
    await catalog.executions.expire(executionId(2));
    for (const number of [1, 2, 3]) {
      assert.equal(await catalog.executions.findResultSet(executionId(number)), undefined);
      assert.equal(await catalog.executions.hasResultSet(executionId(number)), false);
    }
    const expired = await catalog.executions.find(executionId(2));
    assert.equal(expired?.state, 'EXPIRED');
    assert.equal(expired?.expiresAt, NOON + 10_000);
  });

  test('expired runs are listed from the moment of their expiry, oldest first, until they are marked as expired', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    await addFinished(catalog, pendingRun(1), { expiresAt: NOON + 300 });
    await addFinished(catalog, pendingRun(2), { expiresAt: NOON + 200 });
    await addFinished(catalog, pendingRun(3), { expiresAt: NOON + 400 });
    const list = async (now: number, limit = 10) =>
      (await catalog.executions.listExpired(now, limit)).map((run) => Number(run.id.slice(4)));
    assert.deepEqual(await list(NOON + 199), []);
    assert.deepEqual(await list(NOON + 200), [2]);
    assert.deepEqual(await list(NOON + 399), [2, 1]);
    assert.deepEqual(await list(NOON + 399, 1), [2]);
    await catalog.executions.expire(executionId(2));
    assert.deepEqual(await list(NOON + 399), [1]);
  });

  test("a result's expiry can be moved earlier, never later", async (t) => {
    const catalog = await openWithQuery(prepare, t);
    await addFinished(catalog, pendingRun(1), { expiresAt: NOON + 300 });
    const expiry = async () => (await catalog.executions.find(executionId(1)))?.expiresAt;
    await catalog.executions.expireAt(executionId(1), NOON + 400);
    assert.equal(await expiry(), NOON + 300);
    await catalog.executions.expireAt(executionId(1), NOON + 200);
    assert.equal(await expiry(), NOON + 200);
    assert.equal((await catalog.executions.listExpired(NOON + 200, 10)).length, 1);
    assert.equal(await catalog.executions.findLatest(7, {}, NOON + 199).then((found) => found?.id), executionId(1));
    await catalog.executions.expireAt(executionId(2), NOON);
    assert.equal(await catalog.executions.find(executionId(2)), undefined);
  });

  test('stored results are listed in the order of their ids, a few at a time', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    for (const number of [3, 1, 2]) await addFinished(catalog, pendingRun(number));
    await catalog.executions.add(pendingRun(4));
    assert.deepEqual(await catalog.executions.listStored('', 2), [
      { id: executionId(1), resultSet: RESULT_SET },
      { id: executionId(2), resultSet: RESULT_SET },
    ]);
    assert.deepEqual(
      (await catalog.executions.listStored(executionId(2), 2)).map((stored) => stored.id),
      [executionId(3)],
    );
  });
}
