/** Which run is the latest of its query (contract §2). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Catalog } from '../../../src/catalog/catalog.ts';
import { addFinished, type CatalogFactory, executionId, NOON, openWithQuery, pendingRun } from './fixture.ts';

export function latestContract(prepare: CatalogFactory): void {
  test('of runs with results, the one submitted last is the latest, ties by id', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    await addFinished(catalog, pendingRun(1, { submittedAt: NOON + 30 }));
    await addFinished(catalog, pendingRun(2, { submittedAt: NOON + 20 }));
    assert.equal(await latest(catalog), 1);
    await addFinished(catalog, pendingRun(3, { submittedAt: NOON + 30 }));
    assert.equal(await latest(catalog), 3);
  });

  test('where clocks disagree, the run committed last is the latest', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const day = 86_400_000;
    const parameters = { chain: 'base' };
    const finish = async (number: number, at: number) => {
      const times = { startedAt: at, endedAt: at + 10, expiresAt: NOON + 90 * day };
      await addFinished(catalog, pendingRun(number, { submittedAt: at, parameters }), times);
      assert.equal(await latest(catalog), number);
      assert.equal(await latest(catalog, parameters), number);
    };
    await finish(1, NOON);
    await finish(2, NOON + 3 * day);
    await finish(3, NOON + 1000);
    await finish(4, NOON - 5 * day);
    await catalog.executions.add(pendingRun(5, { submittedAt: NOON + 2000 }));
    await finish(6, NOON + 4 * day);
    const newestFirst = await catalog.executions.list({ queryId: 7, limit: 10 });
    assert.deepEqual(
      newestFirst.map(({ id }) => id),
      [6, 5, 4, 3, 2, 1].map(executionId),
    );
    assert.equal((await catalog.executions.find(executionId(3)))?.submittedAt, NOON + 1000);
  });

  test('a run whose commit had to wait stays before one that was submitted after it had ended', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    await addFinished(catalog, pendingRun(2, { submittedAt: NOON + 20 }), { endedAt: NOON + 25 });
    await addFinished(catalog, pendingRun(1, { submittedAt: NOON }), { endedAt: NOON + 10 }, NOON + 30);
    assert.equal(await latest(catalog), 2);
    const asOf = { queryId: 7, parameters: {}, asOf: NOON + 25, now: NOON + 40 };
    assert.equal((await catalog.browsing.findLatestAsOf(asOf))?.id, executionId(2));
  });

  test('a run comes after those that were there when it was submitted, though the clock of its host is behind theirs', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    assert.equal(await catalog.executions.findNewestPlace(7), undefined);
    await addFinished(catalog, pendingRun(1, { submittedAt: NOON + 2000 }), { endedAt: NOON + 2010 });
    const after = await catalog.executions.findNewestPlace(7);
    assert.equal(after, NOON + 2000);
    // By the clock that is behind, too, it is committed later than the other was submitted.
    await addFinished(catalog, pendingRun(2, { submittedAt: NOON }), { endedAt: NOON + 5000 }, NOON + 5000, after);
    assert.equal(await latest(catalog), 2);
    assert.equal((await catalog.executions.find(executionId(2)))?.submittedAt, NOON);
  });

  test('a run without a result never hides one that has a result', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    await addFinished(catalog, pendingRun(1));
    for (const number of [2, 3, 4]) await catalog.executions.add(pendingRun(number));
    await catalog.executions.start(executionId(3), NOON);
    await catalog.executions.fail(executionId(4), { type: 'x', message: 'y' }, NOON);
    assert.equal(await latest(catalog), 1);
  });

  test('without any result, the newest run is the latest, whatever its state', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    assert.equal(await latest(catalog), undefined);
    await catalog.executions.add(pendingRun(1));
    await catalog.executions.add(pendingRun(2));
    await catalog.executions.cancel(executionId(2), NOON);
    assert.equal(await latest(catalog), 2);
  });

  test('an expired result does not count, from the moment of its expiry, swept or not', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    await addFinished(catalog, pendingRun(1), { expiresAt: NOON + 5000 });
    await addFinished(catalog, pendingRun(2), { expiresAt: NOON + 4000 });
    await catalog.executions.add(pendingRun(3));
    assert.equal(await latest(catalog, {}, NOON + 3999), 2);
    assert.equal(await latest(catalog, {}, NOON + 4000), 1);
    assert.equal(await latest(catalog, {}, NOON + 5000), 3);
    await catalog.executions.expire(executionId(2));
    assert.equal(await latest(catalog, {}, NOON), 1);
  });

  test('with parameters, only runs that have each of these values count', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    await addFinished(catalog, pendingRun(1, { parameters: { chain: 'base', day: '1' } }));
    await addFinished(catalog, pendingRun(2, { parameters: { chain: 'base', day: '2' } }));
    await addFinished(catalog, pendingRun(3, { parameters: { chain: 'optimism', day: '1', extra: '' } }));
    await addFinished(catalog, pendingRun(4));
    assert.equal(await latest(catalog), 4);
    assert.equal(await latest(catalog, { chain: 'base' }), 2);
    assert.equal(await latest(catalog, { day: '1' }), 3);
    assert.equal(await latest(catalog, { chain: 'base', day: '1' }), 1);
    assert.equal(await latest(catalog, { day: '1', chain: 'base' }), 1);
    assert.equal(await latest(catalog, { extra: '' }), 3);
    for (const none of [{ chain: 'Base' }, { chain: 'base', day: '3' }, { other: 'base' }, { day: '' }]) {
      assert.equal(await latest(catalog, none), undefined);
    }
  });

  test('with parameters, too, a run with a result comes before a newer one without', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    await addFinished(catalog, pendingRun(1, { parameters: { chain: 'base' } }));
    await catalog.executions.add(pendingRun(2, { parameters: { chain: 'base' } }));
    assert.equal(await latest(catalog, { chain: 'base' }), 1);
    assert.equal(await latest(catalog, { chain: 'base' }, NOON + 10_000), 2);
  });

  test('runs that the caller excludes do not count', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const parameters = { chain: 'base' };
    for (const number of [1, 2, 3]) await addFinished(catalog, pendingRun(number, { parameters }));
    await catalog.executions.add(pendingRun(4, { parameters }));
    for (const asked of [{}, parameters]) {
      const after = (...numbers: readonly number[]) => latest(catalog, asked, NOON, numbers.map(executionId));
      assert.equal(await after(3), 2);
      assert.equal(await after(2), 3);
      assert.equal(await after(2, 3), 1);
      assert.equal(await after(1, 2, 3), 4);
      assert.equal(await after(1, 2, 3, 4), undefined);
    }
  });

  test('as of an earlier time: the latest of those that had ended by then, and whose results are still stored', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    const chain = (name: string) => ({ parameters: { chain: name } });
    await addFinished(catalog, pendingRun(1, chain('base')), { endedAt: NOON + 200 });
    await addFinished(catalog, pendingRun(2, chain('base')), { endedAt: NOON + 500, expiresAt: NOON + 5000 });
    // Submitted later, and ended earlier: the order is that of submission.
    await addFinished(catalog, pendingRun(3, chain('optimism')), { endedAt: NOON + 400 });
    await catalog.executions.add(pendingRun(4, chain('base')));
    await catalog.executions.cancel(executionId(4), NOON + 10);
    const asOf = async (time: number, parameters = {}, now = NOON, except: readonly string[] = []) => {
      const search = { queryId: 7, parameters, asOf: NOON + time, now };
      const run = await catalog.browsing.findLatestAsOf(search, except);
      return run === undefined ? undefined : Number(run.id.slice(4));
    };
    assert.deepEqual(
      [await asOf(199), await asOf(200), await asOf(399), await asOf(400), await asOf(9_000_000)],
      [undefined, 1, 1, 3, 3],
    );
    assert.deepEqual([await asOf(499, { chain: 'base' }), await asOf(500, { chain: 'base' })], [1, 2]);
    assert.equal(await asOf(500, { chain: 'base', day: '1' }), undefined);
    assert.equal(await asOf(500, { chain: 'base' }, NOON + 5000), 1);
    assert.deepEqual(
      [await asOf(500, {}, NOON, [executionId(3)]), await asOf(200, {}, NOON, [executionId(1)])],
      [2, undefined],
    );
    const stored = async (parameters = {}, now = NOON) => {
      const { items, total } = await catalog.browsing.listOldestStored({ queryId: 7, parameters, now }, 2);
      return [items.map(({ id }) => Number(id.slice(4))), total];
    };
    assert.deepEqual(await stored(), [[1, 2], 3]);
    assert.deepEqual(await stored({}, NOON + 5000), [[1, 3], 2]);
    assert.deepEqual(await stored({ chain: 'optimism' }), [[3], 1]);
  });

  test('runs of other queries do not count', async (t) => {
    const catalog = await openWithQuery(prepare, t);
    await catalog.queries.add({ id: 8, owner: { kind: 'user', name: 'ann' }, visibility: 'public' }, NOON);
    await addFinished(catalog, pendingRun(1, { queryId: 8, parameters: { chain: 'base' } }));
    assert.equal(await latest(catalog), undefined);
    assert.equal(await latest(catalog, { chain: 'base' }), undefined);
  });
}

/** The number of query 7's latest run. */
async function latest(
  catalog: Catalog,
  parameters: Readonly<Record<string, string>> = {},
  now = NOON,
  except: readonly string[] = [],
): Promise<number | undefined> {
  const run = await catalog.executions.findLatest(7, parameters, now, except);
  return run === undefined ? undefined : Number(run.id.slice(4));
}
