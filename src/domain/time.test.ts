import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Later, letOthersRun, type Sleep, TimeLimit } from './time.ts';

/** Sleeps until it is woken, whatever its signal says: who is woken at the last moment does not learn of an abort. */
function sleeper() {
  const woken = Promise.withResolvers<void>();
  const asked: number[] = [];
  const sleep: Sleep = async (millis) => {
    asked.push(millis);
    await woken.promise;
  };
  return { sleep, asked, wake: woken.resolve };
}

test('a task is called after its time', async () => {
  const { sleep, asked, wake } = sleeper();
  let calls = 0;
  using _ = new Later(250, sleep, () => {
    calls += 1;
  });
  await letOthersRun();
  assert.deepEqual([asked, calls], [[250], 0]);
  wake();
  await letOthersRun();
  assert.equal(calls, 1);
});

test('it is not called once it is disposed of, be it when its time has just come', async () => {
  const { sleep, wake } = sleeper();
  let calls = 0;
  const later = new Later(250, sleep, () => {
    calls += 1;
  });
  wake();
  later[Symbol.dispose]();
  await letOthersRun();
  assert.equal(calls, 0);
});

test('a limit aborts after its time, and not once the work is over', async () => {
  const { sleep, wake } = sleeper();
  using kept = new TimeLimit(250, sleep);
  const over = new TimeLimit(250, sleep);
  wake();
  over[Symbol.dispose]();
  await letOthersRun();
  assert.equal(over.signal.aborted, false);
  assert.equal(kept.signal.reason.message, 'the limit of 250 ms is exceeded');
});
