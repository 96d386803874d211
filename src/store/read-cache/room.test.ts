/** What was fetched makes room on a full disk, for what is fetched and for whatever else. The disk is one of 250 bytes. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DiskRoom, withRoom } from '../../files/disk-room.ts';
import { ReadCache } from './read-cache.ts';

const BYTES = Buffer.alloc(100, 7);
const sha256 = createHash('sha256').update(BYTES).digest('hex');
const object = (key: string) => ({ key, objectBytes: 100, sha256 });
const full = () => Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });

/** @param others on the same disk, which can be had again */
async function cacheOn(t: TestContext, others: { bytes: number }) {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-room-'));
  t.after(async () => await rm(folder, { recursive: true }));
  const disk = new DiskRoom();
  let now = 0;
  const clock = () => {
    now += 1;
    return now;
  };
  const cache = new ReadCache({
    folder,
    bytesMax: 1e9,
    room: { disk, clock },
    fetch: async function* () {
      if (cache.bytes + others.bytes + 100 > 250) throw full();
      yield BYTES;
    },
  });
  const open = async (key: string) => await cache.open(object(key), { from: 0, to: 1 }, t.signal);
  return { cache, disk, open, files: async () => (await readdir(folder)).length };
}

test('on a full disk a file that nobody reads goes for one that is fetched, and one that is read stays', async (t) => {
  const { open, cache, files } = await cacheOn(t, { bytes: 0 });
  await using read = await open('a');
  await (await open('b'))[Symbol.asyncDispose]();
  await using _ = await open('c');
  assert.deepEqual([cache.bytes, await files()], [200, 2]);
  await assert.rejects(open('d'), { code: 'ENOSPC' });
  assert.equal((await readdir(join(read.path, '..'))).length, 2);
});

test('what else can be had again goes for it, and it for whatever else', async (t) => {
  const others = { bytes: 200 };
  const { open, cache, disk } = await cacheOn(t, others);
  disk.add(async () => [
    {
      bytes: others.bytes,
      usedAt: 0,
      remove: async () => {
        others.bytes = 0;
        return true;
      },
    },
  ]);
  await (await open('a'))[Symbol.asyncDispose]();
  assert.deepEqual([cache.bytes, others.bytes], [100, 0]);
  const written = await withRoom(disk, async () => {
    if (cache.bytes > 0) throw full();
    return 'written';
  });
  assert.deepEqual([written, cache.bytes], ['written', 0]);
});
