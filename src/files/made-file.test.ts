import assert from 'node:assert/strict';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { MadeIsGone } from '../errors/workspace-unavailable.ts';
import { MadeFile } from './made-file.ts';

async function pathIn(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-made-'));
  t.after(async () => await rm(directory, { recursive: true, force: true }));
  return join(directory, 'made');
}

test('a file is what was written into it, and no other in its place', async (t) => {
  const path = await pathIn(t);
  await using file = await MadeFile.create(path);
  assert.equal(await file.write(async () => await writeFile(path, 'rows').then(() => 'told')), 'told');
  const { bytes } = await file.written();
  assert.equal(bytes, 4);
  await writeFile(`${path}.other`, 'ROWS');
  const exchange = () => rename(`${path}.other`, path);
  await assert.rejects(file.write(exchange), MadeIsGone);
  assert.equal((await readFile(path)).toString(), 'ROWS');
  // Whoever writes to a path without a file makes another one.
  const writeAnew = async () => {
    await rm(path);
    await writeFile(path, 'rows');
  };
  await assert.rejects(file.write(writeAnew), MadeIsGone);
});

test('why it could not be written is told, though the file was removed for that', async (t) => {
  const path = await pathIn(t);
  await using file = await MadeFile.create(path);
  const fail = async () => {
    await rm(path);
    throw new Error('Out of Memory Error');
  };
  await assert.rejects(file.write(fail), { message: 'Out of Memory Error' });
});
