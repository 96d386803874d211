import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeTime } from '../../../test/fake-time.ts';
import type { Part } from '../../domain/result-set.ts';
import { TimeLimit } from '../../domain/time.ts';
import { DiskRoom } from '../../files/disk-room.ts';
import { WorkQueue } from '../limits/work-queue.ts';
import { PartReader } from './part-reader.ts';
import type { PartReaderDeps } from './read-parts.ts';

const { signal } = new AbortController();
const part = { key: 'a', firstRow: 0, rowCount: 40, cellBytes: 40 } as unknown as Part;
const ranges = (...starts: readonly number[]) => starts.map((from) => ({ part, from, to: from + 10 }));

test('pages of several ranges are put together a few at a time, exports and pages of one range beside them', async () => {
  const begun: number[] = [];
  const rows = {
    canRead: async () => true,
    read: async function* (_part: Part, { from, to }: { readonly from: number; readonly to: number }) {
      begun.push(from);
      yield { text: Buffer.from(`${from}`), rowCount: to - from, cellBytes: 10 };
    },
  };
  const assembling = new WorkQueue({ runningMax: 1, waitingMax: 1 });
  const deps = { rows, assembling, keyId: 'ann', rangesAtOnce: 2, monotonic: () => 0 } as unknown as PartReaderDeps;
  const read = (takeTurns: boolean, ...starts: readonly number[]) =>
    new PartReader({ columns: [], format: 'json' }, deps).ranges(ranges(...starts), takeTurns, signal);
  const first = read(false, 0, 10);
  await first.next();
  const second = Array.fromAsync(read(false, 20, 30));
  await assert.rejects(Array.fromAsync(read(false, 20, 30)), { code: 'overloaded' });
  await Array.fromAsync(read(true, 2, 12));
  await Array.fromAsync(read(false, 5));
  assert.deepEqual(begun, [0, 2, 12, 5]);
  await Array.fromAsync(first);
  assert.equal((await second).length, 2);
  assert.deepEqual(begun, [0, 2, 12, 5, 10, 20, 30]);
  // Whoever leaves in the middle gives the place back.
  const left = read(false, 0, 10);
  await left.next();
  await left.return(undefined);
  assert.equal(assembling.running, 0);
});

test('a page that waits for rows that are being read ahead, and do not come, takes no longer than its time limit', async () => {
  const time = new FakeTime(0);
  const hangs = (during: AbortSignal) =>
    new Promise<never>((_, reject) => during.addEventListener('abort', () => reject(during.reason)));
  const deps = {
    // They are given up after half of the time, and then nobody waits for them any more.
    rows: {
      read: async function* () {
        using limit = new TimeLimit(30_000, time.sleep);
        await hangs(limit.signal).catch(() => undefined);
      },
    },
    rangeReader: {
      query: async (_: unknown, during: AbortSignal) => await hangs(during),
      use: async () => ({ spilledBytes: 0 }),
    },
    ...{ open: async () => ({ path: 'a', [Symbol.asyncDispose]: async () => undefined }), room: new DiskRoom() },
    pageTurns: new WorkQueue({ runningMax: 1, waitingMax: 1 }),
    ...{ keyId: 'ann', rangesAtOnce: 1, statementMillisMax: 60_000, monotonic: time.clock, sleep: time.sleep },
  } as unknown as PartReaderDeps;
  let asleep = time.nextSleep();
  const read = Array.fromAsync(new PartReader({ columns: [], format: 'json' }, deps).ranges(ranges(0), false, signal));
  const told = assert.rejects(read, { code: 'read_timeout', message: /its limit of 60 s/ });
  // The first half is spent on waiting, the second on reading.
  for (const millis of [30_000, 30_000]) {
    await asleep;
    asleep = time.nextSleep();
    time.advance(millis);
  }
  await told;
  assert.equal(time.clock(), 60_000);
});

test('ranges that wait for rows read ahead at the same time each have the rest of the time limit', async () => {
  const time = new FakeTime(0);
  const limits: number[] = [];
  const sleeps: Promise<void>[] = [];
  const threeSleep = Promise.withResolvers<void>();
  const sleep = (millis: number, during: AbortSignal) => {
    const slept = time.sleep(millis, during);
    if (sleeps.push(slept) === 3) threeSleep.resolve();
    return slept;
  };
  const deps = {
    // The second and the third wait for half of the time.
    rows: {
      canRead: async () => {
        await sleep(30_000, signal);
        return false;
      },
      read: async function* () {},
    },
    rangeReader: { query: async () => [[Buffer.from('{}'), 10, 10, true]] },
    // The first is read while the others wait.
    open: async (_part: Part, { from }: { readonly from: number }) => {
      if (from === 0) await Promise.all(sleeps.slice(0, 2));
      return { path: 'a', [Symbol.asyncDispose]: async () => undefined };
    },
    pageTurns: new WorkQueue({ runningMax: 3, waitingMax: 1 }),
    assembling: new WorkQueue({ runningMax: 1, waitingMax: 1 }),
    ...{ keyId: 'ann', rangesAtOnce: 3, statementMillisMax: 60_000, monotonic: time.clock, room: new DiskRoom() },
    sleep: (millis: number, during: AbortSignal) => {
      limits.push(millis);
      return sleep(millis, during);
    },
  } as unknown as PartReaderDeps;
  const reader = new PartReader({ columns: [], format: 'json' }, deps);
  const read = Array.fromAsync(reader.ranges(ranges(0, 10, 20), false, signal));
  await threeSleep.promise;
  time.advance(30_000);
  assert.equal((await read).length, 3);
  assert.deepEqual(limits, [60_000, 30_000, 30_000]);
});
