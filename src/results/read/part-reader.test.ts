import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Part } from '../../domain/result-set.ts';
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
  const deps = { rows, assembling, keyId: 'ann', rangesAtOnce: 2 } as unknown as PartReaderDeps;
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
