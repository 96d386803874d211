/** The read cache where somebody else changes its files: what a block was checked for must still be there when it is read. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, open, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { RowRange } from '../../domain/blocks.ts';
import { MadeIsGone } from '../../errors/workspace-unavailable.ts';
import { checksumWithBlocks } from '../../files/block-checksums.ts';
import { ReadCache } from './read-cache.ts';

const NEVER = new AbortController().signal;
const BYTES = Buffer.from('first row group, second row group, footer');
const LAYOUT = { rows: [1, 1], bytes: [17, 18, 6] };
const SECOND = 17;

/** An object, what of it is fetched, and `during` called while its second row group is. */
async function cacheOf(t: TestContext, during: (path: string) => Promise<void> = async () => undefined) {
  const root = await mkdtemp(join(tmpdir(), 'qrs-others-write-'));
  t.after(async () => await rm(root, { recursive: true }));
  await writeFile(join(root, 'object'), BYTES);
  const { blocks } = await checksumWithBlocks(join(root, 'object'), LAYOUT, NEVER);
  const object = {
    key: 'a',
    objectBytes: BYTES.length,
    sha256: createHash('sha256').update(BYTES).digest('hex'),
    blocks,
  };
  const folder = await mkdtemp(join(root, 'cache-'));
  let isFirst = true;
  const cache = new ReadCache({
    folder,
    bytesMax: 1_000_000,
    fetch: async function* (_object, offset, length) {
      if (offset === SECOND && isFirst) {
        isFirst = false;
        const [name = ''] = await readdir(folder);
        await during(join(folder, name));
      }
      yield BYTES.subarray(offset, offset + length);
    },
  });
  t.after(async () => await cache[Symbol.asyncDispose]());
  const read = async (rows: RowRange) => {
    await using opened = await cache.open(object, rows, NEVER);
    const text = (await readFile(opened.path)).toString();
    await opened.requireIntact?.();
    return text;
  };
  return { cache, object, read };
}

/** Writes other bytes of the same length over the beginning. */
async function overwrite(path: string): Promise<void> {
  await using file = await open(path, 'r+');
  await file.write('FIRST');
}

test('a file that is cut while more of it is fetched is fetched anew by the next read', async (t) => {
  const { read } = await cacheOf(t, async (path) => await truncate(path, 0));
  await read({ from: 0, to: 1 });
  await assert.rejects(read({ from: 1, to: 2 }), MadeIsGone);
  assert.equal(await read({ from: 0, to: 2 }), BYTES.toString());
});

test('a file that is written into while more of it is fetched is fetched anew once that has been read', async (t) => {
  const { read } = await cacheOf(t, overwrite);
  await read({ from: 0, to: 1 });
  assert.equal((await read({ from: 1, to: 2 })).slice(0, SECOND), 'FIRST row group, ');
  await assert.rejects(read({ from: 0, to: 1 }), MadeIsGone);
  assert.equal(await read({ from: 0, to: 2 }), BYTES.toString());
});

for (const { what, touch } of [
  { what: 'written into', touch: overwrite },
  { what: 'deleted', touch: async (path: string) => await rm(path) },
  {
    what: 'exchanged',
    touch: async (path: string) => {
      await writeFile(`${path}.other`, BYTES.toString().toUpperCase());
      await rename(`${path}.other`, path);
    },
  },
]) {
  test(`a file that is ${what} while it is read is noticed, and fetched anew by the next read`, async (t) => {
    const { cache, object, read } = await cacheOf(t);
    await using opened = await cache.open(object, { from: 0, to: 2 }, NEVER);
    await opened.requireIntact?.();
    await touch(opened.path);
    await assert.rejects(async () => await opened.requireIntact?.(), MadeIsGone);
    // Whoever has it open, too, is told by its path.
    await assert.rejects(readFile(opened.path), { code: 'ENOENT' });
    assert.equal(await read({ from: 0, to: 2 }), BYTES.toString());
  });
}

test('what is fetched of a file while another part of it is read is no damage', async (t) => {
  const { cache, object } = await cacheOf(t);
  await using first = await cache.open(object, { from: 0, to: 1 }, NEVER);
  await using second = await cache.open(object, { from: 1, to: 2 }, NEVER);
  assert.equal(first.path, second.path);
  await first.requireIntact?.();
  await second.requireIntact?.();
  assert.equal((await readFile(first.path)).toString(), BYTES.toString());
});
