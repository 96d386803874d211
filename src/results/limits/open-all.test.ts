import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAll } from './open-all.ts';

const never = new AbortController().signal;

function opener() {
  const log: string[] = [];
  const fileOf = (name: string) => ({ path: name, [Symbol.asyncDispose]: async () => void log.push(`closed ${name}`) });
  return { log, fileOf };
}

test('paths come in the order of the items, whichever is opened first', async () => {
  const { log, fileOf } = opener();
  const second = Promise.withResolvers<void>();
  await using held = new AsyncDisposableStack();
  const open = async (name: string) => {
    if (name === 'a') await second.promise;
    if (name === 'b') second.resolve();
    return fileOf(name);
  };
  const { paths } = await openAll(['a', 'b', 'c'], open, held, never);
  assert.deepEqual(paths, ['a', 'b', 'c']);
  assert.deepEqual(log, []);
});

test('when one cannot be opened, what was opened, and what is opened after that, is closed with the rest', async () => {
  const { log, fileOf } = opener();
  const failed = Promise.withResolvers<void>();
  const opening = async () => {
    await using held = new AsyncDisposableStack();
    const open = async (name: string, signal: AbortSignal) => {
      if (name === 'b') {
        failed.resolve();
        throw new Error('b is damaged');
      }
      // `c` was begun when `b` failed.
      if (name === 'c') await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return fileOf(name);
    };
    await openAll(['a', 'b', 'c', 'd'], open, held, never);
  };
  await assert.rejects(opening(), /b is damaged/);
  await failed.promise;
  assert.deepEqual(log.sort(), ['closed a', 'closed c']);
});
