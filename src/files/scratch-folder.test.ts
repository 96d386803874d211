import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeScratchFolder } from './scratch-folder.ts';

/** The folder of a living process, and names that only look like ours. */
const STAYING = [`scratch-${process.ppid}-abcdef`, 'other', '1999-backup', 'scratch-2024-backups', 'scratch-notes'];

test('folders of ended processes go, those of living ones and other files stay', async (t) => {
  const parent = join(await mkdtemp(join(tmpdir(), 'qrs-scratch-')), 'tmp');
  t.after(async () => await rm(join(parent, '..'), { recursive: true, force: true }));
  const dead = spawnSync(process.execPath, ['-e', '']).pid;
  for (const name of [`scratch-${dead}-abcdef`, `scratch-${process.pid}-before`, ...STAYING]) {
    await mkdir(join(parent, name), { recursive: true });
  }
  const first = await makeScratchFolder(parent);
  await writeFile(join(first.path, 'spill'), 'x');
  const second = await makeScratchFolder(parent);
  const names = async () => (await readdir(parent)).map((name) => join(parent, name)).sort();
  const staying = STAYING.map((name) => join(parent, name));
  assert.deepEqual(await names(), [...staying, first.path, second.path].sort());
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
  assert.deepEqual(await names(), staying.sort());
});

test('several that are made at about the same time are all there', async (t) => {
  const parent = await mkdtemp(join(tmpdir(), 'qrs-scratch-'));
  t.after(async () => await rm(parent, { recursive: true, force: true }));
  const made = await Promise.all(
    Array.from({ length: 60 }, async (_, reads) => {
      // Each begins a little later than the one before.
      for (let read = 0; read < reads; read += 1) await readdir(parent);
      return await makeScratchFolder(parent);
    }),
  );
  const paths = (await readdir(parent)).map((name) => join(parent, name));
  assert.deepEqual(paths.sort(), made.map(({ path }) => path).sort());
});
