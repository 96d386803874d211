/** Leases are exclusive rights for a while. A tick is claimed once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CatalogFactory, NOON } from './fixture.ts';

export function leasesContract(prepare: CatalogFactory): void {
  test('one owner holds a lease until it expires', async (t) => {
    const open = await prepare(t);
    const { leases, moveTo } = await open();
    const lease = await leases.acquire('refresh:a', 'p1', 1000);
    assert.deepEqual({ ...lease, token: 0 }, { resource: 'refresh:a', owner: 'p1', token: 0, expiresAt: NOON + 1000 });
    await moveTo(NOON + 999);
    assert.equal(await leases.acquire('refresh:a', 'p2', 1000), undefined);
    assert.equal(await leases.acquire('refresh:a', 'p1', 1000), undefined, 'not even by the same holder');
    assert.notEqual(await leases.acquire('refresh:b', 'p2', 1000), undefined);
    await moveTo(NOON + 1000);
    const next = await leases.acquire('refresh:a', 'p2', 1000);
    assert.equal(next?.expiresAt, NOON + 2000);
  });

  test('a lease that a wrong clock gave, days ahead, is free', async (t) => {
    const open = await prepare(t);
    const { leases, moveTo } = await open();
    const DAY = 86_400_000;
    await moveTo(NOON + 3 * DAY);
    const ahead = await leases.acquire('write:a', 'p1', 1000);
    await moveTo(NOON);
    assert.equal((await leases.acquire('write:a', 'p2', DAY))?.expiresAt, NOON + DAY);
    assert.equal(await leases.renew(ahead ?? assert.fail('not given'), 1000), undefined);
    // A clock that is minutes ahead is no wrong one, and a lease may last for a day.
    await moveTo(NOON - 60_000);
    assert.equal(await leases.acquire('write:a', 'p3', 1000), undefined);
  });

  test('every new owner of a resource gets a greater token, also after a release', async (t) => {
    const open = await prepare(t);
    const { leases, moveTo } = await open();
    const tokens: number[] = [];
    for (const owner of ['p1', 'p2', 'p1']) {
      const lease = await leases.acquire('refresh:a', owner, 1000);
      assert(lease !== undefined);
      tokens.push(lease.token);
      await leases.release(lease);
    }
    const taken = await leases.acquire('refresh:a', 'p3', 1000);
    assert(taken !== undefined);
    await moveTo(NOON + 1000);
    const takenOver = await leases.acquire('refresh:a', 'p4', 1000);
    assert(takenOver !== undefined);
    tokens.push(taken.token, takenOver.token);
    assert.deepEqual(
      tokens,
      [...new Set(tokens)].sort((a, b) => a - b),
    );
  });

  test('a renewal moves the expiry, also a late renewal if nobody else took the lease', async (t) => {
    const open = await prepare(t);
    const { leases, moveTo } = await open();
    const lease = await leases.acquire('refresh:a', 'p1', 1000);
    assert(lease !== undefined);
    await moveTo(NOON + 500);
    const renewed = await leases.renew(lease, 1000);
    assert.deepEqual(renewed, { ...lease, expiresAt: NOON + 1500 });
    await moveTo(NOON + 1400);
    assert.equal(await leases.acquire('refresh:a', 'p2', 1000), undefined);
    await moveTo(NOON + 9000);
    assert.deepEqual(await leases.renew(lease, 1000), { ...lease, expiresAt: NOON + 10_000 });
  });

  test('a lease that was taken over can be neither renewed nor released', async (t) => {
    const open = await prepare(t);
    const { leases, moveTo } = await open();
    const lost = await leases.acquire('refresh:a', 'p1', 1000);
    assert(lost !== undefined);
    await moveTo(NOON + 1000);
    const held = await leases.acquire('refresh:a', 'p1', 1000);
    await moveTo(NOON + 1001);
    assert.equal(await leases.renew(lost, 1000), undefined);
    await leases.release(lost);
    assert.equal(await leases.revoke(lost), false);
    assert.deepEqual(await leases.list('refresh:a'), [held]);
  });

  test('leases are listed by the prefix of their resource, taken literally', async (t) => {
    const open = await prepare(t);
    const { leases } = await open();
    for (const resource of ['read:1:x', 'read:1:y', 'read:10:x', 'reax', 'READ:1:x', 'read%', 'écrit:1']) {
      await leases.acquire(resource, 'p1', 1);
    }
    const list = async (prefix: string) => (await leases.list(prefix)).map((lease) => lease.resource);
    assert.deepEqual(await list('read:1:'), ['read:1:x', 'read:1:y']);
    assert.deepEqual(await list('read%'), ['read%']);
    assert.deepEqual(await list('écrit:'), ['écrit:1']);
    assert.equal((await list('')).length, 7);
  });

  test('a revoked lease is free at once', async (t) => {
    const open = await prepare(t);
    const { leases } = await open();
    const lease = await leases.acquire('read:1:x', 'p1', 1000);
    assert(lease !== undefined);
    assert.equal(await leases.revoke(lease), true);
    assert.equal(await leases.renew(lease, 1000), undefined);
    assert.notEqual(await leases.acquire('read:1:x', 'p2', 1000), undefined);
  });

  test('a tick is claimed once, and never after a later tick', async (t) => {
    const open = await prepare(t);
    const { ticks } = await open();
    assert.equal(await ticks.findLast('daily'), undefined);
    assert.equal(await ticks.claim('daily', NOON), true);
    assert.equal(await ticks.claim('daily', NOON), false);
    assert.equal(await ticks.claim('daily', NOON - 1), false);
    assert.equal(await ticks.claim('hourly', NOON - 1), true);
    assert.equal(await ticks.claim('daily', NOON + 1), true);
    assert.equal(await ticks.findLast('daily'), NOON + 1);
  });

  test('a tick far ahead of the catalog is claimed by nobody, so that none is claimed again after it', async (t) => {
    const open = await prepare(t);
    const { ticks, moveTo } = await open();
    await moveTo(NOON);
    assert.equal(await ticks.claim('daily', NOON), true);
    assert.equal(await ticks.claim('daily', NOON + 3 * 86_400_000), false, 'the host that asks has a wrong clock');
    assert.equal(await ticks.claim('daily', NOON), false);
    assert.equal(await ticks.claim('daily', NOON + 5 * 60_000), true, 'clocks are never quite the same');
  });

  test('a claim far in the future, made by a wrong clock, is ignored; one a little ahead is not', async (t) => {
    const open = await prepare(t);
    const { ticks, moveTo } = await open();
    const ahead = NOON + 3 * 86_400_000;
    await moveTo(ahead);
    assert.equal(await ticks.claim('daily', ahead), true);
    await moveTo(NOON);
    assert.equal(await ticks.claim('daily', NOON), true);
    assert.equal(await ticks.claim('daily', NOON), false);
    assert.equal(await ticks.findLast('daily'), NOON);
    await moveTo(NOON + 60_000);
    assert.equal(await ticks.claim('daily', NOON + 60_000), true);
    await moveTo(NOON + 1);
    assert.equal(await ticks.claim('daily', NOON), false, 'clocks are never quite the same');
  });
}
