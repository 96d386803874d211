import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DiskRoom, withRoom } from './disk-room.ts';

/** A disk of 100 bytes with things that can be had again: each key is the time of its last use. */
function diskOf(items: Record<number, number>, inUse: readonly number[] = []) {
  const left = new Map(Object.entries(items).map(([usedAt, bytes]) => [Number(usedAt), bytes]));
  const room = new DiskRoom();
  room.add(async () =>
    [...left].map(([usedAt, bytes]) => ({
      bytes,
      usedAt,
      remove: async () => !inUse.includes(usedAt) && left.delete(usedAt),
    })),
  );
  let tries = 0;
  const write = (bytes: number) => async () => {
    tries += 1;
    const taken = [...left.values()].reduce((sum, each) => sum + each, 0);
    if (taken + bytes > 100) throw Object.assign(new Error(`no room for ${bytes} bytes`), { code: 'ENOSPC' });
    return 'written';
  };
  return { room, write, times: () => [...left.keys()], tries: () => tries };
}

test('where there is room nothing is removed', async () => {
  const { room, write, times, tries } = diskOf({ 1: 50 });
  assert.equal(await withRoom(room, write(50)), 'written');
  assert.deepEqual([times(), tries()], [[1], 1]);
});

test('on a full disk everything idle is removed, and the work is tried once more', async () => {
  const { room, write, times, tries } = diskOf({ 1: 40, 2: 40, 3: 20 }, [2]);
  assert.equal(await withRoom(room, write(60)), 'written');
  assert.deepEqual([times(), tries()], [[2], 2]);
});

test('where it is known how much is needed, the least recently used goes until there is as much', async () => {
  const { room, write, times } = diskOf({ 3: 20, 1: 40, 2: 40 });
  assert.equal(await withRoom(room, write(60), 60), 'written');
  assert.deepEqual(times(), [3]);
});

test('where that does not help, or nothing can go, the failure is told as it is', async () => {
  const small = diskOf({ 1: 40, 2: 60 }, [2]);
  await assert.rejects(withRoom(small.room, small.write(50)), /no room for 50 bytes/);
  assert.equal(small.tries(), 2);
  const inUse = diskOf({ 1: 100 }, [1]);
  await assert.rejects(withRoom(inUse.room, inUse.write(50)), /no room for 50 bytes/);
  assert.equal(inUse.tries(), 1);
});

test('any other failure is told as it is, and nothing goes', async () => {
  const { room, times } = diskOf({ 1: 40 });
  await assert.rejects(
    withRoom(room, async () => Promise.reject(new Error('the disk is broken'))),
    /the disk is broken/,
  );
  assert.deepEqual(times(), [1]);
});

test('of two who find the disk full at the same time both are tried again, also who finds nothing left to remove', async () => {
  const { room, write, times } = diskOf({ 1: 60, 2: 40 });
  assert.deepEqual(await Promise.all([withRoom(room, write(30), 1), withRoom(room, write(40), 1)]), [
    'written',
    'written',
  ]);
  assert.deepEqual(times(), [2]);
  const late = diskOf({ 1: 100 });
  const slow = async () => {
    const first = late.write(40);
    return await first().catch(async (error: unknown) => {
      await late.room.make();
      throw error;
    });
  };
  assert.equal(await withRoom(late.room, slow), 'written');
});

test('what cannot be listed or removed stays, and is not what is told', async () => {
  const { room, write, times } = diskOf({ 1: 60, 2: 40 }, [2]);
  room.add(async () => Promise.reject(new Error('the folder cannot be read')));
  room.add(async () => [
    { bytes: 1, usedAt: 0, remove: async () => Promise.reject(new Error('it cannot be removed')) },
  ]);
  assert.equal(await withRoom(room, write(50)), 'written');
  assert.deepEqual(times(), [2]);
  await assert.rejects(withRoom(room, write(90)), /no room for 90 bytes/);
});
