import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeTime } from '../../test/fake-time.ts';
import type { DuckDb } from './duckdb.ts';
import { WarmDuckDbs } from './warm-duckdb.ts';

function counted() {
  const open = new Set<number>();
  const time = new FakeTime(0);
  let opened = 0;
  const warm = new WarmDuckDbs({
    sleep: time.sleep,
    open: async () => {
      const number = ++opened;
      open.add(number);
      return { number, [Symbol.asyncDispose]: async () => void open.delete(number) } as unknown as DuckDb;
    },
  });
  const numberOf = (duckDb: DuckDb) => (duckDb as unknown as { readonly number: number }).number;
  return { warm, open, time, numberOf };
}

test('pieces of work one after the other share one; those at the same time have one each', async () => {
  const { warm, open, numberOf } = counted();
  for (let i = 0; i < 3; i++) assert.equal(await warm.use(async (duckDb) => numberOf(duckDb)), 1);
  const both = await warm.use(async (one) => [numberOf(one), await warm.use(async (other) => numberOf(other))]);
  assert.deepEqual(both, [1, 2]);
  assert.deepEqual([...open], [1, 2]);
  await warm[Symbol.asyncDispose]();
  assert.deepEqual([...open], []);
});

test('one whose work failed is used no more, nor one that was used a thousand times', async () => {
  const { warm, open, numberOf } = counted();
  await assert.rejects(
    warm.use(async () => {
      throw new Error('no');
    }),
    /no/,
  );
  assert.deepEqual([...open], []);
  for (let i = 0; i < 1000; i++) assert.equal(await warm.use(async (duckDb) => numberOf(duckDb)), 2);
  assert.equal(await warm.use(async (duckDb) => numberOf(duckDb)), 3);
  assert.deepEqual([...open], [3]);
});

test('one that nobody needs for half a minute is closed', async () => {
  const { warm, open, time, numberOf } = counted();
  await warm.use(async () => undefined);
  time.advance(20_000);
  assert.equal(await warm.use(async (duckDb) => numberOf(duckDb)), 1);
  time.advance(29_999);
  assert.deepEqual([...open], [1]);
  time.advance(1);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([...open], []);
  assert.equal(await warm.use(async (duckDb) => numberOf(duckDb)), 2);
});

test('one that is used when all are closed is closed when its work is done', async () => {
  const { warm, open } = counted();
  await warm.use(async () => {
    await warm[Symbol.asyncDispose]();
    assert.deepEqual([...open], [1]);
  });
  assert.deepEqual([...open], []);
});
