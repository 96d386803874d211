/**
 * The law of the read cache: whatever the store does, an opened file has exactly the stored bytes, in the blocks that were asked for, until
 * it is released. If the store sends anything else, that is an error, and the next read fetches the block again. TEST_SEED=… repeats a run.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Random } from '../../../test/feature/random-results.ts';
import { blocksOfRows } from '../../domain/blocks.ts';
import { StoreUnavailable } from '../../errors/store-unavailable.ts';
import { checksumWithBlocks } from '../../files/block-checksums.ts';
import { makeScratchFolder } from '../../files/scratch-folder.ts';
import { ObjectDamaged, type ObjectRef } from '../result-store.ts';
import { type FetchBytes, ReadCache } from './read-cache.ts';

const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const CASES = Number(process.env.TEST_CASES ?? 400);
const OBJECTS = 6;
const BYTES_MAX = 60_000;
const ROWS_OF_GROUP = 10;

type Fault = 'none' | 'wrong byte' | 'too short' | 'too long' | 'breaks off' | 'away';
const FAULTS: readonly Fault[] = ['none', 'none', 'none', 'wrong byte', 'too short', 'too long', 'breaks off', 'away'];

interface Stored {
  readonly bytes: Buffer;
  readonly object: ObjectRef;
}

test(`what is opened is what was stored: seed ${SEED}`, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-read-cache-'));
  t.after(async () => await rm(folder, { recursive: true, force: true }));
  const random = new Random(SEED);
  const stored = await Promise.all(Array.from({ length: OBJECTS }, (_, index) => makeObject(folder, index, random)));
  const fetch: FetchBytes = async function* ({ key }, offset, bytes) {
    const fault = random.pick(FAULTS);
    if (fault === 'away') throw new StoreUnavailable('away');
    const whole = stored.find(({ object }) => object.key === key)?.bytes ?? Buffer.alloc(0);
    const sent = Buffer.from(whole.subarray(offset, offset + bytes));
    if (fault === 'wrong byte') sent[0] = (sent[0] ?? 0) ^ 1;
    yield sent.subarray(0, sent.length >> 1);
    if (fault === 'breaks off') throw new StoreUnavailable('broke off');
    yield fault === 'too short' ? Buffer.alloc(0) : sent.subarray(sent.length >> 1);
    if (fault === 'too long') yield Buffer.from('x');
  };
  const cacheFolder = await mkdtemp(join(folder, 'cache-'));
  await using cache = new ReadCache({ folder: cacheFolder, bytesMax: BYTES_MAX, fetch });
  let tried = 0;
  let good = 0;
  const read = async () => {
    tried += 1;
    const { bytes, object } = random.pick(stored);
    const from = random.below(40);
    const rows = { from, to: from + 1 + random.below(15) };
    const client = new AbortController();
    if (random.chance(10)) setImmediate(() => client.abort(new StoreUnavailable('the client has left')));
    try {
      await using opened = await cache.open(object, rows, client.signal);
      // Other files are opened and released meanwhile.
      await new Promise(setImmediate);
      const found = await readFile(opened.path);
      assert.equal(found.length, bytes.length);
      for (const block of blocksOfRows(object.blocks ?? assert.fail(), rows)) {
        const [start, end] = [block.offset, block.offset + block.bytes];
        assert(found.subarray(start, end).equals(bytes.subarray(start, end)), `block ${block.index} of ${object.key}`);
      }
      good += 1;
    } catch (error) {
      if (!(error instanceof ObjectDamaged) && !(error instanceof StoreUnavailable)) throw error;
    }
  };
  const prefetch = async () => {
    const { object } = random.pick(stored);
    const from = random.below(40);
    const client = new AbortController();
    if (random.chance(20)) setImmediate(() => client.abort(new StoreUnavailable('the client has left')));
    try {
      await cache.prefetch(object, { from, to: from + 1 + random.below(30) }, client.signal);
    } catch (error) {
      if (!(error instanceof ObjectDamaged) && !(error instanceof StoreUnavailable)) throw error;
    }
  };
  for (let done = 0; done < CASES; done += 8) {
    await Promise.all(Array.from({ length: 8 }, () => (random.chance(30) ? prefetch() : read())));
    assert(cache.bytes <= BYTES_MAX, `${cache.bytes} bytes with nothing open`);
    // Somebody deletes or changes files of the cache: neither may change what is served.
    const names = await readdir(cacheFolder);
    const name = names[random.below(Math.max(1, names.length))];
    if (name === undefined) continue;
    const happens = random.below(8);
    if (happens < 2) await rm(join(cacheFolder, name), { force: true });
    else if (happens < 4) await spoil(join(cacheFolder, name));
  }
  // Of a few, all may have failed.
  assert(good > tried / 4 - 4, `${good} of ${tried} were read`);
});

async function makeObject(folder: string, index: number, random: Random): Promise<Stored> {
  const groups = Array.from({ length: 5 }, () => 1000 + random.below(5000));
  const layout = { rows: groups.map(() => ROWS_OF_GROUP), bytes: [...groups, 300] };
  const bytes = randomBytes(layout.bytes.reduce((sum, length) => sum + length, 0));
  const path = join(folder, `object-${index}`);
  await writeFile(path, bytes);
  const { blocks } = await checksumWithBlocks(path, layout, new AbortController().signal);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { bytes, object: { key: `01A/part-${index}`, objectBytes: bytes.length, sha256, blocks } };
}

/** Unless it is gone: a file of which nothing came is removed when its fetch has ended, which may be after its reader has left. */
async function spoil(path: string): Promise<void> {
  const file = await open(path, 'r+').catch(() => undefined);
  if (file === undefined) return;
  const { size } = await file.stat();
  await file.write(Buffer.alloc(size, 7), 0, size, 0);
  await file.close();
}

test('processes of one machine that share a place do not touch each other’s files, and remove those of the dead', async (t) => {
  const parent = await mkdtemp(join(tmpdir(), 'qrs-shared-cache-'));
  t.after(async () => await rm(parent, { recursive: true, force: true }));
  const random = new Random(SEED);
  const { bytes, object } = await makeObject(parent, 0, random);
  const place = join(parent, 'fetched');
  const fetch: FetchBytes = async function* (_, offset, length) {
    yield bytes.subarray(offset, offset + length);
  };
  const openCache = async () => {
    const scratch = await makeScratchFolder(place);
    return { scratch, cache: new ReadCache({ folder: scratch.path, bytesMax: 1, fetch }) };
  };
  // As a process leaves it that was killed: no process has this number.
  await mkdir(join(place, 'scratch-4194999-abcdef'), { recursive: true });
  const [first, second] = [await openCache(), await openCache()];
  assert.deepEqual((await readdir(place)).length, 2, 'what the dead left is gone');
  const rows = { from: 0, to: 10 };
  const held = await first.cache.open(object, rows, new AbortController().signal);
  // The other one reads the same, has no room to keep it, and ends.
  await (await second.cache.open(object, rows, new AbortController().signal))[Symbol.asyncDispose]();
  assert.deepEqual(await readdir(second.scratch.path), []);
  await second.cache[Symbol.asyncDispose]();
  await second.scratch[Symbol.asyncDispose]();
  const found = await readFile(held.path);
  const [footer, group] = blocksOfRows(object.blocks ?? assert.fail(), rows);
  for (const block of [footer, group]) {
    const [start, end] = [block?.offset ?? 0, (block?.offset ?? 0) + (block?.bytes ?? 0)];
    assert(found.subarray(start, end).equals(bytes.subarray(start, end)));
  }
  await held[Symbol.asyncDispose]();
  await first.cache[Symbol.asyncDispose]();
  await first.scratch[Symbol.asyncDispose]();
});
