import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkQueue } from './work-queue.ts';

const never = new AbortController().signal;

/** A task that ends when the test ends it. */
function held() {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { task: () => promise, end: resolve };
}

test('runs so many at a time, the others in the order in which they came', async () => {
  const queue = new WorkQueue({ runningMax: 1, waitingMax: 2 });
  const order: string[] = [];
  const first = held();
  const work = [
    queue.run('ann', first.task, never).then((name) => order.push(name)),
    queue.run('ann', async () => order.push('second'), never),
    queue.run('ann', async () => order.push('third'), never),
  ];
  assert.deepEqual([queue.running, queue.waiting], [1, 2]);
  first.end('first');
  await Promise.all(work);
  assert.deepEqual(order, ['first', 'second', 'third']);
  assert.deepEqual([queue.running, queue.waiting], [0, 0]);
});

test('keys take turns, however much one of them asks for', async () => {
  const queue = new WorkQueue({ runningMax: 1, waitingMax: 10 });
  const order: string[] = [];
  const first = held();
  const add = (key: string, name: string) => queue.run(key, async () => order.push(name), never);
  const work = [
    queue.run('ann', first.task, never),
    add('ann', 'ann 1'),
    add('ann', 'ann 2'),
    add('ann', 'ann 3'),
    add('bob', 'bob 1'),
    add('bob', 'bob 2'),
    add('cyd', 'cyd 1'),
  ];
  first.end('first');
  await Promise.all(work);
  assert.deepEqual(order, ['ann 1', 'bob 1', 'cyd 1', 'ann 2', 'bob 2', 'ann 3']);
});

test('when too many wait, the key with the most gives up its last, so that another always gets in', async () => {
  const queue = new WorkQueue({ runningMax: 1, waitingMax: 4 });
  const order: string[] = [];
  const first = held();
  const add = (key: string, name: string) =>
    queue.run(key, async () => order.push(name), never).catch(() => order.push(`${name} refused`));
  const work = [queue.run('ann', first.task, never)];
  const asked = [add('ann', 'ann 1'), add('ann', 'ann 2'), add('ann', 'ann 3'), add('ann', 'ann 4')];
  asked.push(add('ann', 'ann 5'), add('bob', 'bob 1'), add('bob', 'bob 2'), add('bob', 'bob 3'), add('cyd', 'cyd 1'));
  assert.equal(queue.waiting, 4);
  first.end('first');
  await Promise.all([...work, ...asked]);
  assert.deepEqual(order.filter((name) => name.endsWith('refused')).sort(), [
    'ann 2 refused',
    'ann 3 refused',
    'ann 4 refused',
    'ann 5 refused',
    'bob 3 refused',
  ]);
  assert.deepEqual(
    order.filter((name) => !name.endsWith('refused')),
    ['ann 1', 'bob 1', 'cyd 1', 'bob 2'],
  );
});

test('refuses at once when too many wait', async () => {
  const queue = new WorkQueue({ runningMax: 1, waitingMax: 0 });
  const first = held();
  const running = queue.run('ann', first.task, never);
  await assert.rejects(
    queue.run('ann', async () => 'never', never),
    {
      code: 'overloaded',
      message: 'too many heavy reads are waiting; try again in some seconds',
      retryAfterSeconds: 5,
    },
  );
  first.end('done');
  assert.equal(await running, 'done');
});

test('a caller that gives up leaves the queue, and a failed task frees its place', async () => {
  const queue = new WorkQueue({ runningMax: 1, waitingMax: 5 });
  const first = held();
  const running = queue.run('ann', first.task, never);
  const gone = new AbortController();
  const waiting = queue.run('ann', async () => 'never', gone.signal);
  gone.abort(new Error('the client has gone'));
  await assert.rejects(waiting, /the client has gone/);
  assert.equal(queue.waiting, 0);
  first.end('done');
  await running;
  await assert.rejects(
    queue.run('ann', () => Promise.reject(new Error('broken')), never),
    /broken/,
  );
  assert.equal(await queue.run('ann', async () => 'still works', never), 'still works');
});

test('a queue that yields runs one task at a time while the other has work, and after that as many as it may', async () => {
  const pages = new WorkQueue({ runningMax: 2, waitingMax: 5 });
  const exports = new WorkQueue({ runningMax: 2, waitingMax: 5 }, pages);
  const [page, first, second, third] = [held(), held(), held(), held()];
  const reading = pages.run('ann', page.task, never);
  const exporting = [first, second, third].map(({ task }) => exports.run('ann', task, never));
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
