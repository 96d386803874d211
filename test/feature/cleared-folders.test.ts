/** Whoever clears the folders of what is made from results, or writes into them, under a running service, loses time and no answer. */
import assert from 'node:assert/strict';
import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startHttpService } from './http-service.ts';

/** Every filtered or sorted page is read from a view. */
const SETTINGS = { QRS_DIRECT_ROWS: '0', QRS_INDEX_USES: 'off', QRS_PAGE_CACHE: '0' };

/** A service with two runs, and what a sorted page, a difference, a filtered page and an export of them answer. */
async function openRead(t: TestContext) {
  const service = await startHttpService(t, SETTINGS);
  const numbers = (from: number) => `n\n${Array.from({ length: 500 }, (_, n) => from + n).join('\n')}\n`;
  const { id: before } = await service.publish(7, numbers(0), { types: { n: 'bigint' } });
  service.commandLine.now += 1000;
  const { id } = await service.publish(7, numbers(100), { types: { n: 'bigint' } });
  const pages = {
    sorted: `/v1/execution/${id}/results?sort_by=n%20desc&limit=2&offset=10`,
    difference: `/v1/execution/${id}/diff/${before}?key=n&limit=2&offset=3`,
    filtered: `/v1/execution/${id}/results?filters=n%20%3E%20200&limit=2&offset=5`,
  };
  const read = async (path: string) => {
    const answer = (await service.json(path)) as { readonly result: { readonly rows: readonly unknown[] } };
    return answer.result.rows;
  };
  const parquet = async () => {
    const answer = await service.get(`/v1/execution/${id}/results?format=parquet&sort_by=n`);
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
  };
  const all = async () => ({
    sorted: await read(pages.sorted),
    difference: await read(pages.difference),
    filtered: await read(pages.filtered),
    parquet: await parquet(),
  });
  const first = await all();
  assert.deepEqual(
    [first.sorted, first.filtered],
    [
      [{ n: 589 }, { n: 588 }],
      [{ n: 206 }, { n: 207 }],
    ],
  );
  return { service, all, first, dataDir: service.commandLine.dataDir };
}

test('views, differences and exports are made anew once the folders `views` and `derived` have been removed', async (t) => {
  const { service, all, first, dataDir } = await openRead(t);
  assert.deepEqual((await readdir(join(dataDir, 'views'))).length, 2);
  for (const folder of ['views', 'derived']) await rm(join(dataDir, folder), { recursive: true });
  service.commandLine.now += 1000;
  assert.deepEqual(await all(), first);
  assert.deepEqual(service.faults, []);
});

test('views, differences and exports are made anew once other bytes have been written into their files', async (t) => {
  const { service, all, first, dataDir } = await openRead(t);
  const views = await readdir(join(dataDir, 'views'));
  service.commandLine.now += 1000;
  assert.deepEqual(await all(), first);
  // What nobody has touched stays.
  assert.deepEqual(await readdir(join(dataDir, 'views')), views);
  const names = await readdir(join(dataDir, 'views'), { recursive: true });
  const parts = names.filter((name) => name.endsWith('.parquet')).map((name) => join(dataDir, 'views', name));
  assert.ok(parts.length >= 3);
  for (const path of parts) {
    const { size, atime, mtime } = await stat(path);
    // As long as before, and as old as it says; the footer is whole.
    await using file = await open(path, 'r+');
    await file.write(Buffer.alloc(Math.floor(size / 4), 0xff), 0, Math.floor(size / 4), 4);
    await file.utimes(atime, mtime);
  }
  service.commandLine.now += 1000;
  assert.deepEqual(await all(), first);
  assert.deepEqual(service.faults, []);
});
