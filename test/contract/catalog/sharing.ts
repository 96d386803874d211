/** Two open catalogs on the same data, as in two processes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IllegalTransition } from '../../../src/catalog/catalog.ts';
import { addFinished, addQuery, type CatalogFactory, completion, executionId, NOON, pendingRun } from './fixture.ts';

const ROUNDS = 20;

export function sharingContract(prepare: CatalogFactory): void {
  test('each sees what the other committed, and what was committed before it opened', async (t) => {
    const open = await prepare(t);
    const [first, second] = [await open(), await open()];
    await addQuery(first);
    await addFinished(second, pendingRun(1));
    assert.equal((await first.executions.find(executionId(1)))?.state, 'COMPLETED');
    const third = await open();
    assert.equal((await third.executions.find(executionId(1)))?.state, 'COMPLETED');
  });

  test('the version changes with every commit on which an answer may depend, by either process', async (t) => {
    const open = await prepare(t);
    const [first, second] = [await open(), await open()];
    const seen = [await first.version()];
    assert.equal(await first.version(), seen[0]);
    const owner = { kind: 'user', name: 'ann' } as const;
    const key = { id: 'k', hash: 'h', owner, createdAt: NOON };
    const lease = async (id: string) => {
      const held = await second.leases.acquire(`write:${id}`, 'p', 1000);
      assert(held !== undefined);
      return held;
    };
    const changes = [
      async () => await first.principals.addUser('ann', NOON),
      async () => await second.principals.addUser('bob', NOON),
      async () => await second.principals.addTeam('crew', ['ann'], NOON),
      async () => await first.principals.addTeam('board', ['ann'], NOON),
      async () => await second.principals.addKey(key),
      async () => await first.principals.revokeKey('k', NOON),
      async () => await second.queries.add({ id: 7, owner, visibility: 'public' }, NOON),
      async () => await second.executions.add(pendingRun(1)),
      async () => await second.executions.start(executionId(1), NOON),
      async () => await second.executions.complete(executionId(1), completion(), await lease(executionId(1))),
      async () => await second.executions.expire(executionId(1)),
      async () => await first.executions.add(pendingRun(2)),
      async () => await second.executions.cancel(executionId(2), NOON),
      async () => await first.executions.add(pendingRun(3)),
      async () => await second.executions.fail(executionId(3), { type: 'x', message: 'y' }, NOON),
    ];
    for (const [index, change] of changes.entries()) {
      await change();
      const version = await first.version();
      assert(!seen.includes(version), `change ${index}`);
      seen.push(version);
      await first.principals.listUsers();
      await second.principals.listUsers();
      assert.equal(await first.version(), version, 'reading changes nothing');
    }
  });

  test('the version stays the same at commits on which no answer depends', async (t) => {
    const open = await prepare(t);
    const [first, second] = [await open(), await open()];
    await addQuery(first);
    const version = await first.version();
    for (const catalog of [first, second]) {
      const held = await catalog.leases.acquire('read:a', 'p', 1000);
      assert(held !== undefined);
      await catalog.leases.renew(held, 2000);
      await catalog.leases.release(held);
      await catalog.ticks.claim('sweep', NOON);
      await catalog.usage.add([{ day: '2024-03-05', keyId: 'k', requests: 1, datapoints: 1, bytes: 1 }]);
      await catalog.check();
      await assert.rejects(catalog.principals.addTeam('crew', [], NOON));
      await assert.rejects(catalog.executions.add(pendingRun(1, { queryId: 8 })));
    }
    assert.equal(await first.version(), version);
  });

  test('when two finish the same run, exactly one succeeds', async (t) => {
    const open = await prepare(t);
    const [first, second] = [await open(), await open()];
    await addQuery(first);
    for (let number = 0; number < ROUNDS; number += 1) {
      const id = executionId(number);
      await first.executions.add(pendingRun(number));
      const lease = await first.leases.acquire(`write:${id}`, 'first', 1000);
      assert(lease !== undefined);
      const outcomes = await Promise.allSettled([
        first.executions.complete(id, completion(), lease),
        second.executions.cancel(id, NOON + 1),
        second.executions.fail(id, { type: 'x', message: 'y' }, NOON + 1),
      ]);
      const won = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.state] : []));
      assert.equal(won.length, 1);
      assert.equal((await second.executions.find(id))?.state, won[0]);
      assert.equal(await second.executions.hasResultSet(id), won[0] === 'COMPLETED');
      for (const outcome of outcomes) {
        assert(outcome.status === 'fulfilled' || outcome.reason instanceof IllegalTransition);
      }
    }
  });

  test('when many want a lease or a tick, exactly one gets it', async (t) => {
    const open = await prepare(t);
    const catalogs = [await open(), await open(), await open()];
    for (let number = 0; number < ROUNDS; number += 1) {
      const leases = await Promise.all(catalogs.map((c, i) => c.leases.acquire(`r${number}`, `p${i}`, 1000)));
      assert.equal(leases.filter((lease) => lease !== undefined).length, 1);
      const ticks = await Promise.all(catalogs.map((c) => c.ticks.claim('daily', NOON + number)));
      assert.equal(ticks.filter(Boolean).length, 1);
    }
  });

  test('a lease that is renewed late and taken over at the same moment has one holder', async (t) => {
    const open = await prepare(t);
    const [first, second] = [await open(), await open()];
    for (let number = 0; number < ROUNDS; number += 1) {
      const resource = `r${number}`;
      const late = await first.leases.acquire(resource, 'first', 1000);
      assert(late !== undefined);
      await first.moveTo(NOON + 2000 * (number + 1));
      const [renewed, taken] = await Promise.all([
        first.leases.renew(late, 1000),
        second.leases.acquire(resource, 'second', 1000),
      ]);
      assert.equal([renewed, taken].filter((lease) => lease !== undefined).length, 1, `round ${number}`);
      assert.equal((await first.leases.list(resource))[0]?.owner, taken === undefined ? 'first' : 'second');
    }
  });

  test('usage of the same keys is added by two at once, each in an order of its own', async (t) => {
    const open = await prepare(t);
    const [first, second] = [await open(), await open()];
    await addQuery(first);
    const owner = { kind: 'user', name: 'ann' } as const;
    const keys = Array.from({ length: 40 }, (_, index) => `k${String(index).padStart(2, '0')}`);
    for (const id of keys) await first.principals.addKey({ id, hash: id, owner, createdAt: NOON });
    const uses = keys.map((keyId) => ({ day: '2024-03-05', keyId, queryId: 7, requests: 1, datapoints: 2, bytes: 3 }));
    const rounds = Array.from({ length: ROUNDS }, () => [first.usage.add(uses), second.usage.add(uses.toReversed())]);
    await Promise.all(rounds.flat());
    assert.deepEqual(await first.usage.sum({}, []), [{ requests: 1600, datapoints: 3200, bytes: 4800 }]);
  });

  test('of many that ask for the same run at once, one adds it and the others join it', async (t) => {
    const open = await prepare(t);
    const [first, second] = [await open(), await open()];
    await addQuery(first);
    const enqueue = (number: number) =>
      (number % 2 === 0 ? first : second).runs.enqueue(
        { execution: pendingRun(number), sql: 'select 1', values: [], identity: 'same' },
        { waitingMax: 100, waitingOfKeyMax: 100 },
      );
    const outcomes = await Promise.all(Array.from({ length: ROUNDS }, (_, number) => enqueue(number)));
    assert.equal(outcomes.filter(({ kind }) => kind === 'added').length, 1);
    assert.equal(outcomes.filter(({ kind }) => kind === 'joined').length, ROUNDS - 1);
  });

  test('ids that are chosen for queries at the same moment differ', async (t) => {
    const open = await prepare(t);
    const [first, second] = [await open(), await open()];
    await addQuery(first);
    const owner = { kind: 'user', name: 'ann' } as const;
    const add = (catalog: typeof first) => catalog.queries.addWithNextId({ owner, visibility: 'public' }, NOON, 1000);
    const added = await Promise.all(
      Array.from({ length: ROUNDS }, (_, number) => add(number % 2 === 0 ? first : second)),
    );
    assert.equal(new Set(added.map(({ id }) => id)).size, ROUNDS);
  });

  test('of a hundred concurrent writes by two processes none is lost', async (t) => {
    const open = await prepare(t);
    const catalogs = [await open(), await open()];
    const names = Array.from({ length: 100 }, (_, index) => `user${String(index).padStart(3, '0')}`);
    await Promise.all(names.map((name, i) => catalogs[i % 2]?.principals.addUser(name, NOON)));
    assert.deepEqual(
      (await catalogs[0]?.principals.listUsers())?.map((user) => user.name),
      names,
    );
  });

  test('a catalog that is reachable passes its check', async (t) => {
    const open = await prepare(t);
    const catalog = await open();
    await Promise.all([catalog.check(), catalog.principals.addTeam('a', [], NOON), catalog.check()]);
  });
}
