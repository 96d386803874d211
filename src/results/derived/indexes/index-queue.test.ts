import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { IndexQueue } from './index-queue.ts';

const part = { key: 'part', firstRow: 0, rowCount: 1, cellBytes: 8, rowBytesMax: 8, objectBytes: 100, sha256: '' };
const columns = [{ name: 'n', type: { kind: 'bigint' } }] as const;
const resultSet = { columns, rowCount: 1, cellBytes: 8, truncated: false, parts: [part] };
const origin = { executionId: 'one', resultSet, column: { index: 0, type: columns[0].type }, name: 'never.index' };

test('an index that would be too large is never tried again; one that failed is, later', async () => {
  let now = 1_000_000;
  let next = async (): Promise<number> => assert.fail('the disk is full');
  let failed = Promise.withResolvers<void>();
  let builds = 0;
  await using queue = new IndexQueue({
    files: {
      pathOf: (name) => join(tmpdir(), 'qrs-nothing-there', name),
      publish: async () => assert.fail('nothing is published'),
      stagingPath: () => join(tmpdir(), 'qrs-nothing-there', 'staged'),
    },
    builder: {
      build: async () => {
        builds += 1;
        return await next();
      },
      rest: () => failed.resolve(),
    },
    store: { open: async () => ({ path: 'part', [Symbol.asyncDispose]: async () => undefined }) },
    bytesMax: 1e9,
    clock: () => now,
    monotonic: () => now,
    onBuilt: () => assert.fail('nothing was built'),
    onFailed: () => undefined,
  });
  queue.want(origin);
  await failed.promise;
  next = async () => 10_000_000;
  failed = Promise.withResolvers<void>();
  now += 600_000;
  queue.want(origin);
  await failed.promise;
  assert.equal(builds, 2);
  failed = Promise.withResolvers<void>();
  now += 6_000_000;
  queue.want(origin);
  // Had it been wanted once more, the queue would be building now, and would end that before it is gone.
  await queue[Symbol.asyncDispose]();
  assert.equal(builds, 2);
});
