import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeFolder } from './make-folder.ts';

test('every missing folder is made, for its owner alone, by any number of processes at once', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'qrs-folder-'));
  t.after(async () => await rm(root, { recursive: true, force: true }));
  const path = join(root, 'a', 'b', 'c');
  await Promise.all([makeFolder(path), makeFolder(path), makeFolder(join(root, 'a', 'd'))]);
  for (const made of [join(root, 'a'), join(root, 'a', 'b'), path, join(root, 'a', 'd')]) {
    assert.equal((await stat(made)).mode & 0o777, 0o700);
  }
  await makeFolder(path);
});

test('a file in its place or above it is an error', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'qrs-folder-'));
  t.after(async () => await rm(root, { recursive: true, force: true }));
  await writeFile(join(root, 'file'), '');
  await assert.rejects(makeFolder(join(root, 'file')), { code: 'EEXIST' });
  await assert.rejects(makeFolder(join(root, 'file', 'below')), { code: 'ENOTDIR' });
});

test('a link to nothing, in its place or above it, is an error of its own, and nothing is made at its other end', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'qrs-folder-'));
  t.after(async () => await rm(root, { recursive: true, force: true }));
  await symlink(join(root, 'unmounted'), join(root, 'link'));
  await assert.rejects(makeFolder(join(root, 'link')), { code: 'ENOLINK' });
  await assert.rejects(makeFolder(join(root, 'link', 'below')), { code: 'ENOLINK' });
  assert.deepEqual(await readdir(root), ['link']);
});

test('a place where no folder can be made, though its parent exists, is an error and not an endless wait', async (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux has /proc');
  await assert.rejects(makeFolder('/proc/none/below'), { code: 'ENOENT' });
});
