/** Moves where the filesystem has no hard links. */
import assert from 'node:assert/strict';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { moveDurably } from './durable-move.ts';

for (const code of ['EPERM', 'ENOTSUP']) {
  test(`a filesystem that answers ${code} to a link: files are moved all the same, and none is replaced`, async (t) => {
    t.mock.method(fs, 'link', async () => {
      throw Object.assign(new Error(`${code}: no links here`), { code });
    });
    syncBuiltinESMExports();
    const folder = await fs.mkdtemp(join(tmpdir(), 'qrs-no-links-'));
    t.after(async () => {
      t.mock.restoreAll();
      syncBuiltinESMExports();
      await fs.rm(folder, { recursive: true });
    });
    const [from, to] = [join(folder, 'from'), join(folder, 'a', 'to')];
    const move = async (text: string, mayReplace: boolean) => {
      await fs.writeFile(from, text);
      return await moveDurably(from, to, folder, { mayReplace }, t.signal);
    };
    assert.equal(await move('first', false), true);
    assert.deepEqual(await fs.readdir(folder), ['a']);
    assert.equal(await move('second', false), false);
    assert.equal(await fs.readFile(from, 'utf8'), 'second', 'what was refused stays');
    assert.equal(await fs.readFile(to, 'utf8'), 'first');
    assert.equal(await move('third', true), true);
    assert.equal(await fs.readFile(to, 'utf8'), 'third');
  });
}
