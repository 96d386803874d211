/** The queue of runs: which run is next, which process gets it, and how it leaves the queue. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LeaseLost, type NewRun } from '../../../src/catalog/catalog.ts';
import {
  addQuery,
  type CatalogFactory,
  type ClockedCatalog,
  completion,
  executionId,
  NOON,
  openWithQuery,
  pendingRun,
} from './fixture.ts';

const LIMITS = { waitingMax: 100, waitingOfKeyMax: 100 };
const LEASE = 1000;
const MANY = 100;

function newRun(number: number, more: Partial<NewRun> = {}): NewRun {
  return {
    execution: pendingRun(number),
    sql: `SELECT ${number}`,
    values: [{ key: 'n', type: 'number', value: '12.50' }],
    ...more,
  };
}

const claim = async (catalog: ClockedCatalog, owner: string, now: number, runningOfKeyMax = MANY) => {
  await catalog.moveTo(now);
  return await catalog.runs.claim({ owner, at: now, leaseMillis: LEASE, runningOfKeyMax });
};
const claimId = async (catalog: ClockedCatalog, owner: string, now: number, runningOfKeyMax = MANY) =>
  (await claim(catalog, owner, now, runningOfKeyMax))?.execution.id;

export function runsContract(prepare: CatalogFactory): void {
  describe('the queue of runs', () => {
    test('runs are claimed in the order of their submission, each once, with their SQL and values', async (t) => {
      const catalog = await openWithQuery(prepare, t);
      for (const number of [1, 2, 3]) await catalog.runs.enqueue(newRun(number), LIMITS);
      const first = await claim(catalog, 'a', NOON + 10);
      assert.deepEqual(first, {
        ...newRun(1),
        execution: { ...pendingRun(1), state: 'EXECUTING', startedAt: NOON + 10 },
        lease: {
          resource: `write:${executionId(1)}`,
          owner: 'a',
          token: first?.lease.token,
          expiresAt: NOON + 10 + LEASE,
        },
        claims: 1,
      });
      assert.equal(await claimId(catalog, 'b', NOON + 11), executionId(2));
      assert.equal(await claimId(catalog, 'a', NOON + 12), executionId(3));
      assert.equal(await claimId(catalog, 'a', NOON + 13), undefined);
      assert.deepEqual(await catalog.runs.count(), { waiting: 0, running: 3 });
    });

    test('processes that claim at the same time share the runs out', async (t) => {
      const open = await prepare(t);
      const catalogs = [await open(), await open(), await open()];
      const [first] = catalogs;
      assert.ok(first !== undefined);
      await addQuery(first);
      for (let number = 1; number <= 9; number += 1) await first.runs.enqueue(newRun(number), LIMITS);
      const claims = await Promise.all(
        [...catalogs, ...catalogs, ...catalogs, ...catalogs].map((catalog, i) => claimId(catalog, `owner ${i}`, NOON)),
      );
      const ids = claims.filter((id) => id !== undefined);
      assert.deepEqual(
        ids.toSorted(),
        Array.from({ length: 9 }, (_, i) => executionId(i + 1)),
      );
    });

    test('a run whose lease has expired is claimed again, before later runs; its first owner can commit nothing', async (t) => {
      const catalog = await openWithQuery(prepare, t);
      await catalog.runs.enqueue(newRun(1), LIMITS);
      await catalog.runs.enqueue(newRun(2), LIMITS);
      const lost = await claim(catalog, 'a', NOON);
      const again = await claim(catalog, 'b', NOON + LEASE);
      assert.ok(lost !== undefined && again !== undefined);
      assert.deepEqual([again.execution.id, again.claims, again.execution.startedAt], [executionId(1), 2, NOON]);
      assert.ok(again.lease.token > lost.lease.token);
      await assert.rejects(catalog.executions.complete(executionId(1), completion(), lost.lease), LeaseLost);
      const error = { type: 'time_limit', message: 'slow' };
      await assert.rejects(catalog.executions.fail(executionId(1), error, NOON, lost.lease), LeaseLost);
      await catalog.executions.complete(executionId(1), completion(), again.lease);
      assert.equal((await catalog.executions.find(executionId(1)))?.state, 'COMPLETED');
    });

    test('however a run ends, it leaves the queue', async (t) => {
      const catalog = await openWithQuery(prepare, t);
      for (const number of [1, 2, 3, 4]) await catalog.runs.enqueue(newRun(number), LIMITS);
      const [done, failed, cancelled] = [
        await claim(catalog, 'a', NOON),
        await claim(catalog, 'a', NOON),
        await claim(catalog, 'a', NOON),
      ];
      assert.ok(done !== undefined && failed !== undefined && cancelled !== undefined);
      await catalog.executions.complete(done.execution.id, completion(), done.lease);
      await catalog.executions.fail(failed.execution.id, { type: 'x', message: 'y' }, NOON, failed.lease);
      await catalog.executions.cancel(cancelled.execution.id, NOON);
      assert.equal(await catalog.runs.has(executionId(4)), true);
      await catalog.executions.cancel(executionId(4), NOON);
      for (const number of [1, 2, 3, 4]) assert.equal(await catalog.runs.has(executionId(number)), false);
      assert.equal(await claimId(catalog, 'b', NOON + 10 * LEASE), undefined);
      assert.deepEqual(await catalog.runs.count(), { waiting: 0, running: 0 });
    });

    test('a claim that is given back does not count, and the run can be claimed again', async (t) => {
      const catalog = await openWithQuery(prepare, t);
      await catalog.runs.enqueue(newRun(1), LIMITS);
      const claimed = await claim(catalog, 'a', NOON);
      assert.ok(claimed !== undefined);
      await catalog.runs.giveBack(claimed.lease);
      const again = await claim(catalog, 'b', NOON);
      assert.deepEqual([again?.execution.id, again?.claims], [executionId(1), 1]);
      // The lease has ended, so giving back again does nothing.
      await catalog.runs.giveBack(claimed.lease);
      assert.equal(await claimId(catalog, 'c', NOON), undefined);
    });

    test('a key has no more runs running than its limit, and does not hold up other keys', async (t) => {
      const catalog = await openWithQuery(prepare, t);
      for (const number of [1, 2, 3]) await catalog.runs.enqueue(newRun(number, { keyId: 'busy' }), LIMITS);
      await catalog.runs.enqueue(newRun(4, { keyId: 'other' }), LIMITS);
      await catalog.runs.enqueue(newRun(5), LIMITS);
      assert.equal(await claimId(catalog, 'a', NOON, 2), executionId(1));
      assert.equal(await claimId(catalog, 'b', NOON, 2), executionId(2));
      assert.equal(await claimId(catalog, 'a', NOON, 2), executionId(4));
      assert.equal(await claimId(catalog, 'a', NOON, 2), executionId(5));
      assert.equal(await claimId(catalog, 'a', NOON, 2), undefined);
      await catalog.executions.cancel(executionId(1), NOON);
      assert.equal(await claimId(catalog, 'a', NOON, 2), executionId(3));
    });

    test('only a claim starts a run that waits in the queue, and only the claim fails it', async (t) => {
      const catalog = await openWithQuery(prepare, t);
      const id = executionId(1);
      const error = { type: 'x', message: 'y' };
      const refusal = (from: string, to: string) => ({
        name: 'IllegalTransition',
        from,
        message: `execution ${id} is ${from}: it cannot become ${to}, since the service's own engine runs it; it can be cancelled`,
      });
      await catalog.runs.enqueue(newRun(1), LIMITS);
      await assert.rejects(catalog.executions.start(id, NOON), refusal('PENDING', 'EXECUTING'));
      await assert.rejects(
        catalog.atomically(({ executions }) => executions.start(id, NOON)),
        refusal('PENDING', 'EXECUTING'),
      );
      await assert.rejects(catalog.executions.fail(id, error, NOON), refusal('PENDING', 'FAILED'));
      assert.equal((await catalog.executions.find(executionId(1)))?.state, 'PENDING');
      assert.deepEqual(await catalog.runs.count(), { waiting: 1, running: 0 });
      const claimed = await claim(catalog, 'a', NOON);
      assert.ok(claimed !== undefined);
      await assert.rejects(catalog.executions.fail(id, error, NOON), refusal('EXECUTING', 'FAILED'));
      assert.equal((await catalog.executions.fail(id, error, NOON, claimed.lease)).state, 'FAILED');
      await assert.rejects(catalog.executions.fail(id, error, NOON), {
        message: `execution ${id} is FAILED: it cannot become FAILED`,
      });
    });

    test('how far a run is, its holder says with its renewals, and nobody else; when the lease ends, nothing is known', async (t) => {
      const catalog = await openWithQuery(prepare, t);
      await catalog.runs.enqueue(newRun(1), LIMITS);
      const progress = () => catalog.runs.findProgress(executionId(1));
      assert.equal(await progress(), undefined);
      const claimed = await claim(catalog, 'a', NOON);
      assert.ok(claimed !== undefined);
      assert.equal(await progress(), undefined);
      const far = { percent: 41, splits: { completed: 5, total: 12 }, processed: { rows: 1000, bytes: 64_000 } };
      await catalog.leases.renew(claimed.lease, LEASE, far);
      assert.deepEqual(await progress(), far);
      await catalog.leases.renew(claimed.lease, LEASE);
      assert.deepEqual(await progress(), far);
      await catalog.leases.renew(claimed.lease, LEASE, { percent: 42 });
      assert.deepEqual(await progress(), { percent: 42 });
      await catalog.moveTo(NOON + LEASE);
      assert.equal(await progress(), undefined);
      const again = await claim(catalog, 'b', NOON + LEASE);
      assert.ok(again !== undefined);
      assert.equal(await progress(), undefined);
      assert.equal(await catalog.leases.renew(claimed.lease, LEASE, { percent: 99 }), undefined);
      assert.equal(await progress(), undefined);
      await catalog.leases.renew(again.lease, LEASE, { percent: 7 });
      assert.deepEqual(await progress(), { percent: 7 });
      await catalog.runs.giveBack(again.lease);
      assert.equal(await progress(), undefined);
    });

    test('a run that was given back waits again, within the limits', async (t) => {
      const catalog = await openWithQuery(prepare, t);
      const limits = { waitingMax: 10, waitingOfKeyMax: 1 };
      const enqueue = async (number: number) =>
        (await catalog.runs.enqueue(newRun(number, { keyId: 'k' }), limits)).kind;
      assert.equal(await enqueue(1), 'added');
      const claimed = await claim(catalog, 'a', NOON);
      assert.ok(claimed !== undefined);
      await catalog.runs.giveBack(claimed.lease);
      assert.equal(await enqueue(2), 'too_many_of_key');
    });

    test('the next run is found as fast when one key has thousands waiting and its limit running', async (t) => {
      const catalog = await openWithQuery(prepare, t);
      const count = 3000;
      await catalog.atomically(async ({ runs }) => {
        for (let number = 1; number <= count; number += 1) {
          await runs.enqueue({ ...newRun(number, { keyId: 'k' }) }, { waitingMax: count, waitingOfKeyMax: count });
        }
      });
      assert.equal(await claimId(catalog, 'a', NOON, 1), executionId(1));
      // The quickest counts: the machine may do something else meanwhile.
      let millis = Number.POSITIVE_INFINITY;
      for (let time = 0; time < 5; time += 1) {
        const start = performance.now();
        assert.equal(await claimId(catalog, 'a', NOON, 1), undefined);
        millis = Math.min(millis, performance.now() - start);
      }
      assert.ok(millis < 400, `took ${millis} ms`);
    });

    test('a claim may ask for one certain run', async (t) => {
      const catalog = await openWithQuery(prepare, t);
      for (const number of [1, 2]) await catalog.runs.enqueue(newRun(number), LIMITS);
      const request = { owner: 'a', at: NOON, leaseMillis: LEASE, runningOfKeyMax: MANY, only: executionId(2) };
      assert.equal((await catalog.runs.claim(request))?.execution.id, executionId(2));
      assert.equal(await catalog.runs.claim(request), undefined);
    });

    test('the waiting runs of a key, and of all keys, are limited; runs that no key asked for are not', async (t) => {
      const catalog = await openWithQuery(prepare, t);
      const limits = { waitingMax: 3, waitingOfKeyMax: 2 };
      const enqueue = async (number: number, keyId?: string) =>
        (await catalog.runs.enqueue(newRun(number, keyId === undefined ? {} : { keyId }), limits)).kind;
      assert.equal(await enqueue(1, 'k'), 'added');
      assert.equal(await enqueue(2, 'k'), 'added');
      assert.equal(await enqueue(3, 'k'), 'too_many_of_key');
      assert.equal(await enqueue(4, 'l'), 'added');
      assert.equal(await enqueue(5, 'l'), 'too_many');
      assert.equal(await enqueue(6), 'added');
      assert.equal(await catalog.executions.find(executionId(3)), undefined);
      // A running run does not count as waiting.
      await claim(catalog, 'a', NOON);
      await claim(catalog, 'a', NOON);
      assert.equal(await enqueue(7, 'k'), 'added');
    });

    test('a run equal to one that waits or runs is not added; the existing one is returned', async (t) => {
      const catalog = await openWithQuery(prepare, t);
      const enqueue = async (number: number, identity: string) => {
        const enqueued = await catalog.runs.enqueue(newRun(number, { identity }), LIMITS);
        return 'execution' in enqueued ? [enqueued.kind, enqueued.execution.id] : [enqueued.kind];
      };
      assert.deepEqual(await enqueue(1, 'same'), ['added', executionId(1)]);
      assert.deepEqual(await enqueue(2, 'same'), ['joined', executionId(1)]);
      assert.deepEqual(await enqueue(3, 'other'), ['added', executionId(3)]);
      const run = await claim(catalog, 'a', NOON);
      assert.deepEqual(await enqueue(4, 'same'), ['joined', executionId(1)]);
      assert.ok(run !== undefined);
      await catalog.executions.complete(executionId(1), completion(), run.lease);
      assert.deepEqual(await enqueue(5, 'same'), ['added', executionId(5)]);
    });

    test('a tick joins the run of an earlier tick while that waits, and stays free while that is being run', async (t) => {
      const catalog = await openWithQuery(prepare, t);
      const enqueue = async (number: number, tick: number) => {
        const more = { identity: 'query:1', tick: { schedule: 'query:1', at: tick } };
        return (await catalog.runs.enqueue(newRun(number, more), LIMITS)).kind;
      };
      const kinds = [await enqueue(1, NOON), await enqueue(2, NOON), await enqueue(3, NOON + 60_000)];
      assert.deepEqual(kinds, ['added', 'tick_claimed', 'joined']);
      const run = await claim(catalog, 'a', NOON);
      assert.equal(await enqueue(4, NOON + 120_000), 'running');
      assert.equal(await catalog.ticks.findLast('query:1'), NOON + 60_000);
      assert.ok(run !== undefined);
      await catalog.executions.complete(executionId(1), completion(), run.lease);
      assert.equal(await enqueue(5, NOON + 120_000), 'added');
    });

    test('the place in the queue counts only runs of the same kind', async (t) => {
      const catalog = await openWithQuery(prepare, t);
      await catalog.executions.add(pendingRun(1));
      await catalog.runs.enqueue(newRun(2), LIMITS);
      await catalog.executions.add(pendingRun(3));
      await catalog.runs.enqueue(newRun(4), LIMITS);
      const place = (number: number) => catalog.executions.queuePosition(pendingRun(number));
      assert.deepEqual([await place(1), await place(2), await place(3), await place(4)], [1, 1, 2, 2]);
      await claim(catalog, 'a', NOON);
      assert.equal(await place(4), 1);
    });
  });
}
