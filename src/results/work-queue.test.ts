import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkQueue } from './work-queue.ts';

const never = new AbortController().signal;

/** A task that ends when told to. */
function held() {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { task: () => promise, end: resolve };
}

test('runs as many as it may at a time, the others in the order they came', async () => {
  const queue = new WorkQueue({ runningMax: 1, waitingMax: 2 });
  const order: string[] = [];
  const first = held();
  const work = [
    queue.run(first.task, never).then((name) => order.push(name)),
    queue.run(async () => order.push('second'), never),
    queue.run(async () => order.push('third'), never),
  ];
  assert.deepEqual([queue.running, queue.waiting], [1, 2]);
  first.end('first');
  await Promise.all(work);
  assert.deepEqual(order, ['first', 'second', 'third']);
  assert.deepEqual([queue.running, queue.waiting], [0, 0]);
});

test('refuses at once when too many wait', async () => {
  const queue = new WorkQueue({ runningMax: 1, waitingMax: 0 });
  const first = held();
  const running = queue.run(first.task, never);
  await assert.rejects(
    queue.run(async () => 'never', never),
    {
      code: 'overloaded',
      message: 'too many heavy reads are waiting; try again in some seconds',
      retryAfterSeconds: 5,
    },
  );
  first.end('done');
  assert.equal(await running, 'done');
});

test('who gives up while waiting leaves the queue, and a task that fails gives its place back', async () => {
  const queue = new WorkQueue({ runningMax: 1, waitingMax: 5 });
  const first = held();
  const running = queue.run(first.task, never);
  const gone = new AbortController();
  const waiting = queue.run(async () => 'never', gone.signal);
  gone.abort(new Error('the client has gone'));
  await assert.rejects(waiting, /the client has gone/);
  assert.equal(queue.waiting, 0);
  first.end('done');
  await running;
  await assert.rejects(
    queue.run(() => Promise.reject(new Error('broken')), never),
    /broken/,
  );
  assert.equal(await queue.run(async () => 'still works', never), 'still works');
});

test('a queue that gives way does one piece at a time while the other has work, and then as many as it may', async () => {
  const pages = new WorkQueue({ runningMax: 2, waitingMax: 5 });
  const exports = new WorkQueue({ runningMax: 2, waitingMax: 5 }, pages);
  const [page, first, second, third] = [held(), held(), held(), held()];
  const reading = pages.run(page.task, never);
  const exporting = [first, second, third].map(({ task }) => exports.run(task, never));
  assert.deepEqual([exports.running, exports.waiting], [1, 2]);
  first.end('first');
  await exporting[0];
  assert.deepEqual([exports.running, exports.waiting], [1, 1]);
  page.end('page');
  await reading;
  assert.deepEqual([exports.running, exports.waiting], [2, 0]);
  second.end('second');
  third.end('third');
  assert.deepEqual(await Promise.all(exporting), ['first', 'second', 'third']);
});
