import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeTime } from '../../../test/fake-time.ts';
import type { Removable } from '../../files/disk-room.ts';
import { DerivedBudget } from './budget.ts';

/** Things of one kind: each key is the time of its last use. */
function kind(budget: DerivedBudget, items: Record<number, number>, inUse: readonly number[] = []) {
  const left = new Map(Object.entries(items).map(([usedAt, bytes]) => [Number(usedAt), bytes]));
  budget.add(async () =>
    [...left].map(
      ([usedAt, bytes]): Removable => ({
        bytes,
        usedAt,
        remove: async () => !inUse.includes(usedAt) && left.delete(usedAt),
      }),
    ),
  );
  return left;
}

test('the least recently used goes first, of whatever kind, until the rest fits the bound', async () => {
  const budget = new DerivedBudget(100);
  const views = kind(budget, { 1: 40, 4: 40 });
  const files = kind(budget, { 2: 40, 3: 40, 5: 20 });
  await budget.enforce();
  assert.deepEqual([...views.keys()], [4]);
  assert.deepEqual([...files.keys()], [3, 5]);
});

test('what is in use stays, and counts', async () => {
  const budget = new DerivedBudget(50);
  const views = kind(budget, { 1: 40 }, [1]);
  const files = kind(budget, { 2: 40, 3: 10 });
  await budget.enforce();
  assert.deepEqual([...views.keys()], [1]);
  assert.deepEqual([...files.keys()], [3]);
});

test('what is added while the bound is being enforced is looked at, too', async () => {
  const budget = new DerivedBudget(50);
  const files = kind(budget, { 1: 50 });
  const first = budget.enforce();
  files.set(2, 50);
  await Promise.all([first, budget.enforce()]);
  assert.deepEqual([...files.keys()], [2]);
});

test('releasing lists the folder only where something had to stay beyond the bound', async () => {
  const budget = new DerivedBudget(50);
  const inUse: number[] = [];
  const files = kind(budget, { 1: 40 }, inUse);
  let listed = 0;
  budget.add(async () => {
    listed += 1;
    return [];
  });
  await budget.enforce();
  for (let page = 0; page < 10; page += 1) await budget.released();
  assert.equal(listed, 1);
  inUse.push(1, 2);
  files.set(2, 40);
  await budget.enforce();
  assert.deepEqual([...files.keys()], [1, 2]);
  inUse.splice(0);
  await budget.released();
  assert.deepEqual([...files.keys()], [2]);
});

test('what is released while the bound is being enforced is looked at again', async () => {
  const budget = new DerivedBudget(50);
  const inUse = [1];
  const files = kind(budget, { 1: 80 }, inUse);
  const first = budget.enforce();
  inUse.splice(0);
  await Promise.all([first, budget.released()]);
  assert.deepEqual([...files.keys()], []);
});

test('what other processes add is looked at every minute, also after a look that failed', async () => {
  const budget = new DerivedBudget(50);
  const files = kind(budget, { 1: 40 });
  const time = new FakeTime(0);
  let fails = false;
  budget.add(async () => {
    if (fails) throw new Error('the folder cannot be read');
    return [];
  });
  const stop = new AbortController();
  let asleep = time.nextSleep();
  const watching = budget.watch(time.sleep, stop.signal);
  const minute = async () => {
    await asleep;
    asleep = time.nextSleep();
    time.advance(60_000);
    await asleep;
  };
  files.set(2, 40);
  fails = true;
  await minute();
  assert.equal(files.size, 2);
  fails = false;
  await minute();
  assert.deepEqual([...files.keys()], [2]);
  stop.abort();
  await watching;
});

test('on a full disk all that is derived may go, whatever the bound, but what is in use', async () => {
  const budget = new DerivedBudget(1000);
  const files = kind(budget, { 1: 10, 2: 10 }, [2]);
  assert.equal(await budget.room.make(), true);
  assert.deepEqual([...files.keys()], [2]);
  assert.equal(await budget.room.make(), false);
});
