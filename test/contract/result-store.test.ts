import assert from 'node:assert/strict';
import { mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { LocalResultStore } from '../../src/store/local/local-result-store.ts';
import { resultStoreContract } from './result-store.ts';

resultStoreContract('local', async () => {
  const root = await mkdtemp(join(tmpdir(), 'qrs-local-'));
  return {
    store: await LocalResultStore.open(root),
    damage: async (key, at) => {
      await using file = await open(join(root, key), 'r+');
      const place = at ?? (await file.stat()).size - 1;
      const byte = Buffer.alloc(1);
      await file.read(byte, 0, 1, place);
      byte[0] = (byte[0] ?? 0) ^ 1;
      await file.write(byte, 0, 1, place);
    },
    lose: (key) => rm(join(root, key)),
    close: () => rm(root, { recursive: true, force: true }),
  };
});

test('the local store leaves no empty folder behind what it deleted', async () => {
  const root = await mkdtemp(join(tmpdir(), 'qrs-local-'));
  const store = await LocalResultStore.open(join(root, 'objects'));
  await writeFile(join(root, 'staged'), 'abc');
  await store.put('01A/7/part-0', join(root, 'staged'), new AbortController().signal);
  await store.delete(['01A/7/part-0']);
  assert.deepEqual(await readdir(join(root, 'objects')), []);
  await rm(root, { recursive: true });
});
