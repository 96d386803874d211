/** Who asked for how much, on which day. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CatalogFactory, type ClockedCatalog, NOON } from './fixture.ts';

const MONDAY = '2024-03-04';
const TUESDAY = '2024-03-05';

/** ann has the keys k1 and k2, the team crew has k3. */
async function openWithKeys(open: () => Promise<ClockedCatalog>): Promise<ClockedCatalog> {
  const catalog = await open();
  await catalog.principals.addUser('ann', NOON);
  await catalog.principals.addTeam('crew', ['ann'], NOON);
  const owners = { k1: 'user', k2: 'user', k3: 'team' } as const;
  for (const [id, kind] of Object.entries(owners)) {
    const owner = { kind, name: kind === 'user' ? 'ann' : 'crew' };
    await catalog.principals.addKey({ id, hash: id, owner, createdAt: NOON });
  }
  return catalog;
}

export function usageContract(prepare: CatalogFactory): void {
  test('usage adds up', async (t) => {
    const { usage } = await openWithKeys(await prepare(t));
    await usage.add([{ day: MONDAY, keyId: 'k1', queryId: 7, requests: 1, datapoints: 10, bytes: 100 }]);
    await usage.add([
      { day: MONDAY, keyId: 'k1', queryId: 7, requests: 2, datapoints: 20, bytes: 200 },
      { day: MONDAY, keyId: 'k1', requests: 1, datapoints: 0, bytes: 30 },
      { day: TUESDAY, keyId: 'k1', queryId: 7, requests: 1, datapoints: 1, bytes: 1 },
    ]);
    assert.deepEqual(await usage.sum({}, ['day', 'key', 'query']), [
      { day: MONDAY, keyId: 'k1', requests: 1, datapoints: 0, bytes: 30 },
      { day: MONDAY, keyId: 'k1', queryId: 7, requests: 3, datapoints: 30, bytes: 300 },
      { day: TUESDAY, keyId: 'k1', queryId: 7, requests: 1, datapoints: 1, bytes: 1 },
    ]);
  });

  test('usage is summed by day, key, user, team, query, or in all', async (t) => {
    const { usage } = await openWithKeys(await prepare(t));
    assert.deepEqual(await usage.sum({}, []), []);
    await usage.add([
      { day: MONDAY, keyId: 'k1', queryId: 7, requests: 1, datapoints: 10, bytes: 100 },
      { day: TUESDAY, keyId: 'k2', queryId: 8, requests: 2, datapoints: 20, bytes: 200 },
      { day: TUESDAY, keyId: 'k3', queryId: 8, requests: 4, datapoints: 40, bytes: 400 },
    ]);
    const two = { requests: 3, datapoints: 30, bytes: 300 };
    const third = { requests: 4, datapoints: 40, bytes: 400 };
    assert.deepEqual(await usage.sum({}, []), [{ requests: 7, datapoints: 70, bytes: 700 }]);
    assert.deepEqual(await usage.sum({}, ['user']), [{ user: 'ann', ...two }]);
    assert.deepEqual(await usage.sum({}, ['team']), [{ team: 'crew', ...third }]);
    assert.deepEqual(await usage.sum({}, ['query']), [
      { queryId: 7, requests: 1, datapoints: 10, bytes: 100 },
      { queryId: 8, requests: 6, datapoints: 60, bytes: 600 },
    ]);
    assert.deepEqual(await usage.sum({ owner: { kind: 'user', name: 'ann' } }, []), [two]);
    assert.deepEqual(await usage.sum({ owner: { kind: 'team', name: 'ann' } }, []), []);
    assert.deepEqual(await usage.sum({ keyId: 'k3' }, ['key']), [{ keyId: 'k3', ...third }]);
    assert.deepEqual(await usage.sum({ to: MONDAY }, ['day']), [
      { day: MONDAY, requests: 1, datapoints: 10, bytes: 100 },
    ]);
    assert.deepEqual(await usage.sum({ from: TUESDAY, to: TUESDAY, queryId: 8 }, ['key']), [
      { keyId: 'k2', requests: 2, datapoints: 20, bytes: 200 },
      { keyId: 'k3', ...third },
    ]);
  });

  test('a batch that comes again is counted once', async (t) => {
    const { usage } = await openWithKeys(await prepare(t));
    const use = { day: MONDAY, keyId: 'k1', queryId: 7, requests: 1, datapoints: 2, bytes: 3 };
    const batch = (writer: string, number: number) => ({ writer, number });
    await usage.add([use], batch('p1', 1));
    await usage.add([use], batch('p1', 1));
    await usage.add([use], batch('p2', 1));
    await usage.add([use], batch('p1', 2));
    await usage.add([use], batch('p1', 2));
    assert.deepEqual(await usage.sum({}, []), [{ requests: 3, datapoints: 6, bytes: 9 }]);
  });

  test('a batch is kept for as long as answers are, from when it came by the clock of the catalog', async (t) => {
    const catalog = await openWithKeys(await prepare(t));
    const { usage, idempotencyKeys } = catalog;
    const add = async () =>
      await usage.add([{ day: MONDAY, keyId: 'k1', requests: 1, datapoints: 2, bytes: 3 }], {
        writer: 'p1',
        number: 1,
      });
    await catalog.moveTo(NOON + 5);
    await add();
    await idempotencyKeys.deleteUntil(NOON + 4);
    await add();
    assert.deepEqual(await usage.sum({}, []), [{ requests: 1, datapoints: 2, bytes: 3 }]);
    await idempotencyKeys.deleteUntil(NOON + 5);
    await add();
    assert.deepEqual(await usage.sum({}, []), [{ requests: 2, datapoints: 4, bytes: 6 }]);
  });

  test('adding nothing changes nothing, not even the version', async (t) => {
    const catalog = await openWithKeys(await prepare(t));
    const version = await catalog.version();
    await catalog.usage.add([]);
    assert.equal(await catalog.version(), version);
  });

  test('usage that two processes add at the same time is not lost', async (t) => {
    const open = await prepare(t);
    const catalogs = [await openWithKeys(open), await open()];
    const use = { day: MONDAY, keyId: 'k1', queryId: 7, requests: 1, datapoints: 2, bytes: 3 };
    await Promise.all(Array.from({ length: 40 }, (_, index) => catalogs[index % 2]?.usage.add([use])));
    assert.deepEqual(await catalogs[0]?.usage.sum({}, ['query']), [
      { queryId: 7, requests: 40, datapoints: 80, bytes: 120 },
    ]);
  });
}
