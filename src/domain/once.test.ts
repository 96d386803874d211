import assert from 'node:assert/strict';
import { test } from 'node:test';
import { once } from './once.ts';

test('all who ask share one piece of work, also after it is done', async () => {
  let calls = 0;
  const open = once(async () => {
    calls += 1;
    return { calls };
  });
  const [first, second] = await Promise.all([open(), open()]);
  assert.equal(first, second);
  assert.equal(await open(), first);
  assert.equal(calls, 1);
});

test('a failed open is tried again for whoever asks next, not for those who waited for it', async () => {
  const outcomes = ['the disk is away', 'the disk is still away', 'open'];
  let calls = 0;
  const open = once(async () => {
    const outcome = outcomes[calls];
    calls += 1;
    if (outcome !== 'open') throw new Error(outcome);
    return outcome;
  });
  const [first, second] = await Promise.allSettled([open(), open()]);
  for (const { status, reason } of [first, second] as PromiseRejectedResult[]) {
    assert.equal(status, 'rejected');
    assert.equal(reason.message, 'the disk is away');
  }
  await assert.rejects(open(), /still away/);
  assert.equal(await open(), 'open');
  assert.equal(await open(), 'open');
  assert.equal(calls, 3);
});
