import assert from 'node:assert/strict';
import { mkdir, mkdtemp, open, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { LocalResultStore } from '../../src/store/local/local-result-store.ts';
import { ObjectDamaged } from '../../src/store/result-store.ts';
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

test('only of empty folders is asked whether they may go, and what is in one goes first', async () => {
  const root = await mkdtemp(join(tmpdir(), 'qrs-local-'));
  const store = await LocalResultStore.open(root);
  for (const folder of ['01A/7', '01B/8', '01C/9']) await mkdir(join(root, folder), { recursive: true });
  await writeFile(join(root, '01A/7/part-0'), 'abc');
  const asked: string[] = [];
  await store.removeEmptyFolders(async (prefix) => {
    asked.push(prefix);
    return prefix !== '01C/9/';
  });
  assert.deepEqual(asked.toSorted(), ['01B/', '01B/8/', '01C/9/']);
  assert.deepEqual((await readdir(root)).toSorted(), ['01A', '01C']);
  await rm(root, { recursive: true });
});

test('an object that the system cannot read counts as damaged, so that whoever looks at many goes on with the next', async () => {
  const root = await mkdtemp(join(tmpdir(), 'qrs-local-'));
  const store = await LocalResultStore.open(join(root, 'objects'));
  const never = new AbortController().signal;
  await writeFile(join(root, 'staged'), 'abc');
  await store.put('01A/7/part-0', join(root, 'staged'), never);
  await rm(join(root, 'objects/01A/7/part-0'));
  // A link in a circle is refused to anybody; rights and a failing disk could not be had here.
  await symlink('part-0', join(root, 'objects/01A/7/part-0'));
  const sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
  const object = { key: '01A/7/part-0', objectBytes: 3, sha256 };
  const unreadable = {
    constructor: ObjectDamaged,
    message: 'stored object 01A/7/part-0 is damaged: it cannot be read (ELOOP)',
  };
  await assert.rejects(store.verify(object, never), unreadable);
  await assert.rejects(store.open(object, { from: 0, to: 1 }, never), unreadable);
  assert.deepEqual(await store.findMissing([object.key, '01A/7/part-1']), ['01A/7/part-1']);
  await rm(root, { recursive: true });
});
