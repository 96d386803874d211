/** What is fetched ahead of reads: once for all who need it, within bounds, and never taken for more than it is. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { blocksOfRows } from '../../domain/blocks.ts';
import { StoreUnavailable } from '../../errors/store-unavailable.ts';
import { checksumWithBlocks } from '../../files/block-checksums.ts';
import type { ObjectRef } from '../result-store.ts';
import { ReadCache } from './read-cache.ts';

const NEVER = new AbortController().signal;
const GROUPS = 20;
const GROUP_BYTES = 1000;
const FOOTER_BYTES = 100;
/** Each row group has one row. */
const ALL = { from: 0, to: GROUPS };

/** A request for a block, which is answered when the test says so. */
interface Request {
  readonly offset: number;
  readonly isAborted: boolean;
  answer(bytes?: Buffer): void;
  fail(error: Error): void;
}

interface World {
  readonly cache: ReadCache;
  readonly object: ObjectRef;
  readonly bytes: Buffer;
  /** All that there were so far, in order. */
  readonly requests: readonly Request[];
  /** Resolves when there were so many. */
  requested(count: number): Promise<void>;
  /** Files of the cache that this process has open. */
  openFiles(): Promise<readonly string[]>;
  readonly folder: string;
}

async function makeWorld(t: TestContext, bytesMax = 1_000_000): Promise<World> {
  const root = await mkdtemp(join(tmpdir(), 'qrs-prefetch-'));
  t.after(async () => await rm(root, { recursive: true, force: true }));
  const layout = {
    rows: Array<number>(GROUPS).fill(1),
    bytes: [...Array<number>(GROUPS).fill(GROUP_BYTES), FOOTER_BYTES],
  };
  const bytes = Buffer.from(Array.from({ length: GROUPS * GROUP_BYTES + FOOTER_BYTES }, (_, at) => (at * 31) % 251));
  await writeFile(join(root, 'object'), bytes);
  const { blocks } = await checksumWithBlocks(join(root, 'object'), layout, NEVER);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const requests: Request[] = [];
  const watchers: { readonly count: number; readonly wake: () => void }[] = [];
  const folder = await mkdtemp(join(root, 'cache-'));
  const cache = new ReadCache({
    folder,
    bytesMax,
    fetch: async function* (_object, offset, length, signal) {
      const answered = Promise.withResolvers<Buffer>();
      requests.push({
        offset,
        get isAborted() {
          return signal.aborted;
        },
        answer: (sent = bytes.subarray(offset, offset + length)) => answered.resolve(sent),
        fail: answered.reject,
      });
      signal.addEventListener('abort', () => answered.reject(signal.reason));
      for (const { count, wake } of watchers) if (requests.length >= count) wake();
      yield await answered.promise;
    },
  });
  t.after(async () => await cache[Symbol.asyncDispose]());
  return {
    cache,
    object: { key: '01A/part-0', objectBytes: bytes.length, sha256, blocks },
    bytes,
    requests,
    folder,
    requested: async (count) => {
      if (requests.length >= count) return;
      await new Promise<void>((wake) => watchers.push({ count, wake }));
    },
    openFiles: async () => {
      const names = await readdir('/proc/self/fd');
      const paths = await Promise.all(names.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
      return paths.filter((path) => path.startsWith(folder));
    },
  };
}

async function requireRead({ cache, object, bytes }: World, rows = ALL): Promise<void> {
  await using opened = await cache.open(object, rows, NEVER);
  const found = await readFile(opened.path);
  for (const { offset, bytes: length } of blocksOfRows(object.blocks ?? assert.fail(), rows)) {
    assert.deepEqual(found.subarray(offset, offset + length), bytes.subarray(offset, offset + length));
  }
}

/** Answers each request as it comes, until this is done. */
async function answerAll({ requests }: World, work: Promise<unknown>): Promise<void> {
  const done = work.then(() => true);
  let answered = 0;
  for (let isDone = false; !isDone; ) {
    for (; answered < requests.length; answered += 1) requests[answered]?.answer();
    isDone = await Promise.race([done, new Promise<false>((resolve) => setImmediate(resolve, false))]);
  }
}

test('rows that were fetched ahead are read without another request', async (t) => {
  const world = await makeWorld(t);
  const ahead = world.cache.prefetch(world.object, { from: 3, to: 5 }, NEVER);
  await world.requested(3);
  assert.deepEqual(
    world.requests.map(({ offset }) => offset).sort((a, b) => a - b),
    [3 * GROUP_BYTES, 4 * GROUP_BYTES, GROUPS * GROUP_BYTES],
    'two row groups and the footer, in the order in which the disk let them',
  );
  for (const request of world.requests) request.answer();
  await ahead;
  await requireRead(world, { from: 3, to: 5 });
  assert.equal(world.requests.length, 3);
});

test('a reader who comes while its rows are fetched ahead waits for them and asks for nothing twice', async (t) => {
  const world = await makeWorld(t);
  const ahead = Promise.all([
    world.cache.prefetch(world.object, { from: 3, to: 5 }, NEVER),
    world.cache.prefetch(world.object, { from: 3, to: 5 }, NEVER),
  ]);
  await world.requested(3);
  const read = requireRead(world, { from: 3, to: 5 });
  for (const request of world.requests) request.answer();
  await Promise.all([read, ahead]);
  assert.equal(world.requests.length, 3);
});

test('eight requests go ahead at once, over all readers, and a read that waits for its rows does not wait for theirs', async (t) => {
  const world = await makeWorld(t);
  const ahead = [0, 4, 8, 12].map((from) => world.cache.prefetch(world.object, { from, to: from + 8 }, NEVER));
  await world.requested(8);
  await new Promise(setImmediate);
  assert.equal(world.requests.length, 8);
  // The last row group is not among the first eight.
  const read = requireRead(world, { from: 19, to: 20 });
  await world.requested(9);
  world.requests.find(({ offset }) => offset === GROUPS * GROUP_BYTES)?.answer();
  world.requests[8]?.answer();
  await read;
  await answerAll(world, Promise.all(ahead));
  assert.equal(world.requests.length, GROUPS + 1, 'each block once');
  await requireRead(world);
});

test('who has left fetches nothing more, leaves no file open, and what it fetched in part is fetched again', async (t) => {
  const world = await makeWorld(t);
  const client = new AbortController();
  const ahead = world.cache.prefetch(world.object, ALL, client.signal);
  await world.requested(8);
  const first = world.requests[0] ?? assert.fail();
  first.answer();
  await world.requested(9);
  client.abort(new Error('the client has left'));
  await assert.rejects(ahead, /the client has left/);
  // The block's own bookkeeping ends in the next turns of the loop.
  while ((await world.openFiles()).length > 0) await new Promise(setImmediate);
  assert.equal(world.requests.length, 9);
  assert(world.requests.slice(1).every(({ isAborted }) => isAborted));
  const isFooter = first.offset === GROUPS * GROUP_BYTES;
  assert.equal(world.cache.bytes, isFooter ? FOOTER_BYTES : GROUP_BYTES, 'nothing but the first was whole');
  await answerAll(world, requireRead(world));
  assert.equal(world.requests.length, 9 + GROUPS, 'all but the first again');
});

test('what comes wrong ahead is asked for again by whoever reads it', async (t) => {
  const world = await makeWorld(t);
  const ahead = world.cache.prefetch(world.object, { from: 0, to: 1 }, NEVER);
  await world.requested(2);
  world.requests[0]?.answer();
  world.requests[1]?.answer(Buffer.alloc(GROUP_BYTES));
  await world.requested(3);
  world.requests[2]?.fail(new StoreUnavailable('away'));
  await assert.rejects(ahead, /away/);
  const read = requireRead(world, { from: 0, to: 1 });
  await world.requested(4);
  world.requests[3]?.answer();
  await read;
});

test('it goes no further than there is room beside what is being read, and what is being read stays', async (t) => {
  const world = await makeWorld(t, FOOTER_BYTES + 5 * GROUP_BYTES);
  const opening = world.cache.open(world.object, { from: 0, to: 2 }, NEVER);
  await world.requested(3);
  for (const request of world.requests) request.answer();
  await using opened = await opening;
  const ahead = world.cache.prefetch(world.object, { from: 2, to: GROUPS }, NEVER);
  await world.requested(6);
  for (const request of world.requests.slice(3)) request.answer();
  await ahead;
  assert.equal(world.requests.length, 6, 'three row groups beside the two that are read');
  assert.equal(world.cache.bytes, FOOTER_BYTES + 5 * GROUP_BYTES);
  assert.deepEqual((await readFile(opened.path)).subarray(0, 2000), world.bytes.subarray(0, 2000));
});

test('of an object without hashes of blocks nothing is fetched ahead', async (t) => {
  const world = await makeWorld(t);
  const { blocks: _, ...object } = world.object;
  await world.cache.prefetch(object, { from: 0, to: 1 }, NEVER);
  assert.equal(world.requests.length, 0);
});
