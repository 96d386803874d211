import assert from 'node:assert/strict';
import { test } from 'node:test';
import { once } from './once.ts';
import { SharedWork } from './shared-work.ts';

const never = new AbortController().signal;

/** Work that the test ends, and its outcome. */
function work() {
  const ends: PromiseWithResolvers<string>[] = [];
  const signals: AbortSignal[] = [];
  const start = (signal: AbortSignal) => {
    const end = Promise.withResolvers<string>();
    ends.push(end);
    signals.push(signal);
    return end.promise;
  };
  return { ends, signals, start };
}

test('those who ask at the same time share one piece of work, and its failure', async () => {
  const shared = new SharedWork<string>();
  const { ends, start } = work();
  const both = Promise.all([shared.join('a', start, never), shared.join('a', start, never)]);
  assert.equal(ends.length, 1);
  ends[0]?.resolve('done');
  assert.deepEqual(await both, ['done', 'done']);
  const failing = [shared.join('a', start, never), shared.join('a', start, never)];
  assert.equal(ends.length, 2, 'it was over');
  ends[1]?.reject(new Error('broken'));
  for (const one of failing) await assert.rejects(one, { message: 'broken' });
});

test('one who leaves does not stop it for the others; it is aborted when all have left', async () => {
  const shared = new SharedWork<string>();
  const { ends, signals, start } = work();
  const leavers = [new AbortController(), new AbortController()];
  const [first, second] = leavers.map(({ signal }) => shared.join('a', start, signal));
  leavers[0]?.abort(new Error('first left'));
  await assert.rejects(Promise.resolve(first), { message: 'first left' });
  assert.equal(signals[0]?.aborted, false);
  leavers[1]?.abort(new Error('second left'));
  await assert.rejects(Promise.resolve(second), { message: 'second left' });
  assert.equal(signals[0]?.aborted, true);
  const next = shared.join('a', start, never);
  ends[1]?.resolve('anew');
  assert.equal(await next, 'anew');
});

test('work that is done once is repeated only after a failure', async () => {
  let times = 0;
  const get = once(async () => {
    times += 1;
    if (times === 1) throw new Error('not yet');
    return times;
  });
  await assert.rejects(get(), { message: 'not yet' });
  assert.deepEqual(await Promise.all([get(), get()]), [2, 2]);
  assert.equal(await get(), 2);
});
