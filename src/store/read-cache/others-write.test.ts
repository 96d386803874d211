/** The read cache where somebody else changes its files: what a block was checked for must still be there when it is read. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checksumWithBlocks } from '../../files/block-checksums.ts';
import { ReadCache } from './read-cache.ts';

const NEVER = new AbortController().signal;
const BYTES = Buffer.from('first row group, second row group, footer');
const LAYOUT = { rows: [1, 1], bytes: [17, 18, 6] };
const SECOND = 17;

test('a file that is cut while more of it is fetched is fetched anew by the next read', async (t) => {
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
  let isCut = false;
  await using cache = new ReadCache({
    folder,
    bytesMax: 1_000_000,
    fetch: async function* (_object, offset, length) {
      if (offset === SECOND && !isCut) {
        isCut = true;
        const [name = ''] = await readdir(folder);
        await truncate(join(folder, name), 0);
      }
      yield BYTES.subarray(offset, offset + length);
    },
  });
  const read = async (rows: { readonly from: number; readonly to: number }) => {
    await using opened = await cache.open(object, rows, NEVER);
    return (await readFile(opened.path)).toString();
  };
  await read({ from: 0, to: 1 });
  await read({ from: 1, to: 2 });
  assert.ok(isCut);
  assert.equal(await read({ from: 0, to: 2 }), BYTES.toString());
});
