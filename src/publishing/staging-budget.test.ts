import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StagingBudget } from './staging-budget.ts';

const limited = (bytes: number) =>
  new StagingBudget({
    limit: async () => ({ now: bytes, ever: bytes }),
    makeRoom: async () => assert.fail('not asked'),
  });

test('results share one budget, and what one took is free again when it ends', async () => {
  const budget = limited(100);
  const first = await budget.begin(0);
  const second = await budget.begin(0);
  await first.take(60);
  await second.take(40);
  await assert.rejects(second.take(1), {
    kind: 'no_room',
    message:
      'results that are being sent take 100 bytes of disk, and 100 is the most (QRS_UPLOAD_DISK); nothing was changed, try again when some of them are stored',
  });
  assert.equal(budget.bytes, 100);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  assert.equal(budget.bytes, 40);
  await second.take(60);
  second.give(30);
  await second.take(30);
  second[Symbol.dispose]();
  assert.equal(budget.bytes, 0);
});

test('of two that take the last bytes at the same moment one gets them', async () => {
  const budget = limited(100);
  const [one, other] = [await budget.begin(0), await budget.begin(0)];
  const taken = await Promise.allSettled([one.take(60), other.take(60)]);
  assert.deepEqual(
    taken.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
  assert.equal(budget.bytes, 60);
});

test('what alone is more than the budget would be refused each time, and is told so', async () => {
  const budget = limited(100);
  const one = await budget.begin(0);
  await one.take(60);
  await assert.rejects(one.take(41), {
    kind: 'too_large',
    message:
      'the result takes more than 100 bytes of disk until it is stored, and that is the most for all results that are being sent (QRS_UPLOAD_DISK)',
  });
});

test('what announces more than there is room for is refused at once', async () => {
  const budget = limited(100);
  using one = await budget.begin(100);
  await one.take(50);
  await assert.rejects(budget.begin(51), { kind: 'no_room' });
  await assert.rejects(budget.begin(101), { kind: 'too_large' });
  using other = await budget.begin(50);
  await other.take(50);
  assert.equal(budget.bytes, 100);
});

/** A disk of 1000 bytes, of which results that are being sent may take half of what is free. @param removable of what is not */
function halfOfDisk(given: { free: number; removable: number }) {
  const asked: number[] = [];
  const budget = new StagingBudget({
    limit: async (staged) => ({ now: (given.free + staged) / 2, ever: 500 }),
    makeRoom: async (bytes) => {
      asked.push(bytes);
      const went = given.removable;
      given.removable = 0;
      given.free += went;
      return went > 0;
    },
  });
  return { budget, asked };
}

test('the limit may follow the disk: it is asked when a result begins', async () => {
  const disk = { free: 100, removable: 0 };
  const { budget } = halfOfDisk(disk);
  using one = await budget.begin(50);
  await one.take(50);
  disk.free = 50;
  await assert.rejects(budget.begin(1), { kind: 'no_room' });
  disk.free = 250;
  using two = await budget.begin(100);
  await two.take(100);
  assert.equal(budget.bytes, 150);
});

test('on a full disk a result is not too large, if one with nothing else on it could take it', async () => {
  const { budget } = halfOfDisk({ free: 0, removable: 0 });
  await assert.rejects(budget.begin(500), {
    kind: 'no_room',
    message:
      'a disk of the service is too full: results that are being sent may take 0 bytes of it at the moment (QRS_UPLOAD_DISK), and this one takes more; nothing was changed, try again when there is room',
  });
  await assert.rejects(budget.begin(501), { kind: 'too_large' });
  using one = await budget.begin(0);
  await assert.rejects(one.take(1), { kind: 'no_room' });
});

test('what can be had again makes room for a result, when it begins and later', async () => {
  const announced = halfOfDisk({ free: 100, removable: 100 });
  using one = await announced.budget.begin(80);
  await one.take(80);
  assert.deepEqual(announced.asked, [30]);
  const later = halfOfDisk({ free: 100, removable: 100 });
  using two = await later.budget.begin(0);
  await two.take(40);
  assert.deepEqual(later.asked, []);
  await two.take(40);
  assert.deepEqual(later.asked, [30]);
  await assert.rejects(two.take(400), { kind: 'no_room' });
  await assert.rejects(two.take(421), { kind: 'too_large' });
  assert.deepEqual(later.asked, [30, 360], 'nothing is removed for what has no room anyway');
});

test('what is told that there is room when its result has ended takes none', async () => {
  const { budget } = halfOfDisk({ free: 100, removable: 100 });
  const one = await budget.begin(0);
  const taking = one.take(80);
  one[Symbol.dispose]();
  await taking;
  assert.equal(budget.bytes, 0);
});
