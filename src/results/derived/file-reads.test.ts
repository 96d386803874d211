import assert from 'node:assert/strict';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FileReads } from './file-reads.ts';

/** A file of 200 KB, each read of which takes so many milliseconds. */
async function file(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-reads-'));
  t.after(async () => await rm(directory, { recursive: true, force: true }));
  const content = Buffer.from(Array.from({ length: 200_000 }, (_, i) => i % 251));
  await writeFile(join(directory, 'file'), content);
  const handle = await open(join(directory, 'file'));
  t.after(async () => await handle.close());
  const disk = { millis: 0 };
  let now = 0;
  const reads = new FileReads(handle.fd, () => {
    now += disk.millis;
    return now;
  });
  return { reads, content, disk };
}

const isAside = (read: Buffer | Promise<Buffer>) => read instanceof Promise;

test('small reads are made at once, large ones aside; both give the bytes of the file, as far as it goes', async (t) => {
  const { reads, content } = await file(t);
  for (const [position, length, aside] of [
    [7, 1000, false],
    [100, 96 * 1024, false],
    [100, 96 * 1024 + 1, true],
    [199_990, 100, false],
  ] as const) {
    const read = reads.bytes(position, length);
    assert.equal(isAside(read), aside, `${length} bytes`);
    assert.deepEqual(await read, content.subarray(position, position + length));
  }
});

/** How many small reads are made aside until one is made at once. */
async function aside(reads: FileReads): Promise<number> {
  let count = 0;
  for (;;) {
    const read = reads.bytes(0, 10);
    await read;
    if (!isAside(read)) return count;
    count += 1;
  }
}

test('after two slow reads small ones are made aside, twice as many after each; one that is quick ends that', async (t) => {
  const { reads, disk } = await file(t);
  assert.equal(await aside(reads), 0);
  disk.millis = 2;
  assert.equal(await aside(reads), 0);
  assert.equal(await aside(reads), 0);
  for (const count of [32, 64, 128, 256, 512, 1024, 2048, 4096, 4096]) assert.equal(await aside(reads), count);
  disk.millis = 0.5;
  assert.equal(await aside(reads), 4096);
  assert.equal(await aside(reads), 0);
  disk.millis = 2;
  assert.equal(await aside(reads), 0);
  assert.equal(await aside(reads), 32);
});

test('a slow read now and then is no sign of a slow disk', async (t) => {
  const { reads, disk } = await file(t);
  for (let read = 0; read < 180; read += 1) {
    disk.millis = read % 18 === 0 ? 2 : 0;
    assert.equal(await aside(reads), 0);
  }
});
