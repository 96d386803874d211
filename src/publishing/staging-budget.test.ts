import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StagingBudget } from './staging-budget.ts';

const limited = (bytes: number) => new StagingBudget(async () => bytes);

test('results share one budget, and what one took is free again when it ends', async () => {
  const budget = limited(100);
  const first = await budget.begin(0);
  const second = await budget.begin(0);
  first.take(60);
  second.take(40);
  assert.throws(() => second.take(1), {
    kind: 'no_room',
    message:
      'results that are being sent take 100 bytes of disk, and 100 is the most (QRS_UPLOAD_DISK); nothing was changed, try again when some of them are stored',
  });
  assert.equal(budget.bytes, 100);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  assert.equal(budget.bytes, 40);
  second.take(60);
  second.give(30);
  second.take(30);
  second[Symbol.dispose]();
  assert.equal(budget.bytes, 0);
});

test('what alone is more than the budget would be refused each time, and is told so', async () => {
  const budget = limited(100);
  const one = await budget.begin(0);
  one.take(60);
  assert.throws(() => one.take(41), {
    kind: 'too_large',
    message:
      'the result takes more than 100 bytes of disk until it is stored, and that is the most for all results that are being sent (QRS_UPLOAD_DISK)',
  });
});

test('what announces more than there is room for is refused at once', async () => {
  const budget = limited(100);
  using one = await budget.begin(100);
  one.take(50);
  await assert.rejects(budget.begin(51), { kind: 'no_room' });
  await assert.rejects(budget.begin(101), { kind: 'too_large' });
  using other = await budget.begin(50);
  other.take(50);
  assert.equal(budget.bytes, 100);
});

test('the limit may follow the disk: it is asked when a result begins', async () => {
  let free = 100;
  const budget = new StagingBudget(async (staged) => (free + staged) / 2);
  using one = await budget.begin(50);
  one.take(50);
  free = 50;
  await assert.rejects(budget.begin(1), { kind: 'no_room' });
  free = 250;
  using two = await budget.begin(100);
  two.take(100);
  assert.equal(budget.bytes, 150);
});
