/** Facts of the installation as a whole: its id, and the latest time seen. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CatalogFactory, NOON } from './fixture.ts';

export function installationContract(prepare: CatalogFactory): void {
  test('the first id stays, whichever others are offered, until it is replaced on purpose', async (t) => {
    const open = await prepare(t);
    const [one, other] = [(await open()).installation, (await open()).installation];
    assert.equal(await one.findId(), undefined);
    assert.equal(await one.initializeId('a'), 'a');
    assert.equal(await other.initializeId('b'), 'a');
    assert.equal(await other.findId(), 'a');
    await other.setId('c');
    assert.equal(await one.findId(), 'c');
  });

  test('the latest time seen is kept beside the id', async (t) => {
    const open = await prepare(t);
    const { installation } = await open();
    assert.equal(await installation.findClock(), undefined);
    await installation.updateClock((before) => ({ latestSeen: before === undefined ? NOON : 0 }));
    const doubt = { from: NOON, to: NOON + 1, leftMillis: 2 };
    assert.deepEqual(await installation.updateClock((before) => ({ latestSeen: before?.latestSeen ?? 0, doubt })), {
      latestSeen: NOON,
      doubt,
    });
    assert.deepEqual(await (await open()).installation.findClock(), { latestSeen: NOON, doubt });
    assert.equal(await installation.initializeId('a'), 'a');
    assert.deepEqual(await installation.findClock(), { latestSeen: NOON, doubt });
  });
}
