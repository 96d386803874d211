/** Which replicas run: each writes that it does, and counts until it has not for a while. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CatalogFactory, NOON } from './fixture.ts';

const WEB_1 = { id: 'a', name: 'web-1', version: '1.2.3' };
const WEB_2 = { id: 'b', name: 'web-2', version: '1.3.0' };

export function replicasContract(prepare: CatalogFactory): void {
  test('a replica counts from its first beat until it is removed, or was not seen for a while', async (t) => {
    const open = await prepare(t);
    const [first, second] = [await open(), await open()];
    const names = async () => (await first.replicas.list(30_000)).map(({ name }) => name);
    await first.replicas.beat(WEB_1);
    await first.moveTo(NOON + 20_000);
    await second.replicas.beat(WEB_2);
    assert.deepEqual(await names(), ['web-1', 'web-2']);
    const [seen] = await second.replicas.list(30_000);
    assert.deepEqual({ ...seen, knows: 0 }, { ...WEB_1, knows: 0, since: NOON, lastSeen: NOON });
    assert((seen?.knows ?? 0) > 0);
    await first.moveTo(NOON + 30_000);
    assert.deepEqual(await names(), ['web-2']);
    await first.replicas.beat(WEB_1);
    assert.deepEqual(await names(), ['web-1', 'web-2']);
    assert.equal((await first.replicas.list(30_000))[0]?.since, NOON);
    await second.replicas.remove('b');
    assert.deepEqual(await names(), ['web-1']);
  });

  test('one that was seen by a clock far ahead does not count as running', async (t) => {
    const open = await prepare(t);
    const catalog = await open();
    await catalog.moveTo(NOON + 3_600_000);
    await catalog.replicas.beat(WEB_1);
    await catalog.moveTo(NOON);
    await catalog.replicas.beat(WEB_2);
    const names = async () => (await catalog.replicas.list(30_000)).map(({ name }) => name);
    assert.deepEqual(await names(), ['web-2']);
    // It was not dead: it goes on, by the right clock.
    await catalog.replicas.beat(WEB_1);
    assert.deepEqual((await names()).toSorted(), ['web-1', 'web-2']);
  });

  test('of those that died nothing is kept for longer than a day', async (t) => {
    const open = await prepare(t);
    const catalog = await open();
    await catalog.replicas.beat(WEB_1);
    await catalog.moveTo(NOON + 86_400_000);
    assert.equal((await catalog.replicas.list(90_000_000)).length, 1);
    await catalog.replicas.beat(WEB_2);
    assert.deepEqual(
      (await catalog.replicas.list(90_000_000)).map(({ name }) => name),
      ['web-2'],
    );
  });
}
