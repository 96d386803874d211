/** The read cache on a disk that is full: a small file system, where the machine lets a test mount one. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const mounted = spawnSync('unshare', ['--map-root-user', '--mount', 'mount', '-t', 'tmpfs', 'none', tmpdir()]);
const skip = mounted.status === 0 ? false : 'no file system can be mounted here (unshare --map-root-user --mount)';

/** Opens an object of 100,000 bytes, which come as one, in a folder with room for 65,536; then one of 50,000. Prints what came of it. */
const SCRIPT = `
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
const { ReadCache } = await import(process.env.READ_CACHE);
const bytes = Buffer.alloc(100_000, 7);
const fetch = async function* (object, offset, length) { yield bytes.subarray(offset, offset + length); };
const cache = new ReadCache({ folder: process.env.FOLDER, bytesMax: 1e9, fetch });
for (const objectBytes of [100_000, 50_000]) {
  const sha256 = createHash('sha256').update(bytes.subarray(0, objectBytes)).digest('hex');
  const object = { key: 'a', objectBytes, sha256 };
  try {
    await using opened = await cache.open(object, { from: 0, to: 1 }, new AbortController().signal);
    const found = await readFile(opened.path);
    console.log(found.every((byte) => byte === 7) ? 'right' : 'wrong');
  } catch (error) {
    console.log(error.code ?? String(error));
  }
}`;

test('what the disk has not taken whole is not read', { skip }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-full-cache-'));
  try {
    const whole = `mount -t tmpfs -o size=64k none "$FOLDER" && "$NODE" --input-type=module-typescript -e "$SCRIPT"`;
    const env = {
      ...process.env,
      ...{ FOLDER: folder, NODE: process.execPath, SCRIPT, READ_CACHE: join(import.meta.dirname, 'read-cache.ts') },
    };
    const ran = spawnSync('unshare', ['--map-root-user', '--mount', 'sh', '-c', whole], { env, encoding: 'utf8' });
    assert.equal(ran.stdout, 'ENOSPC\nright\n', ran.stderr);
  } finally {
    await rm(folder, { recursive: true });
  }
});
