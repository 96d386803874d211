/** Whoever clears the folders of what is made from results, or writes into them, under a running service, loses time and no answer. */
import assert from 'node:assert/strict';
import { copyFile, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DuckDb } from '../../src/duckdb/duckdb.ts';
import { startHttpService } from './http-service.ts';
import { LONG_RESULT_ROWS, publishLongResult } from './long-result.ts';
import { readParquet } from './parquet-reader.ts';

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
    parquet: `/v1/execution/${id}/results?format=parquet&sort_by=n`,
    exported: `/v1/execution/${id}/results?format=ndjson&sort_by=n%20desc&ignore_max_datapoints_per_request=true`,
  };
  const read = async (path: string) => {
    const answer = (await service.json(path)) as { readonly result: { readonly rows: readonly unknown[] } };
    return answer.result.rows;
  };
  const parquet = async () => {
    const answer = await service.get(pages.parquet);
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
  };
  const told = async (path: string) => {
    const answer = await service.get(path);
    return { status: answer.status, code: answer.headers.get('x-error-code'), text: await answer.text() };
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
  return { service, pages, read, told, all, first, dataDir: service.commandLine.dataDir };
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

test('what was cleared a moment after it had been read is made anew', async (t) => {
  const { service, pages, told, all, first, dataDir } = await openRead(t);
  const exported = await told(pages.exported);
  assert.equal(exported.text.split('\n', 2).join(), '{"n":599},{"n":598}');
  for (const path of [pages.sorted, pages.difference, pages.filtered, pages.exported, pages.parquet]) {
    await rm(join(dataDir, 'views'), { recursive: true });
    assert.equal((await told(path)).status, 200, path);
  }
  await rm(join(dataDir, 'views'), { recursive: true });
  assert.deepEqual(await told(pages.exported), exported);
  assert.deepEqual(await all(), first);
  assert.deepEqual(service.faults, []);
});

/** Calls `hit` with the path of each file that DuckDB has just written below `views`. */
function onWritten(t: TestContext, hit: (path: string) => Promise<void>): void {
  const { query } = DuckDb.prototype;
  t.mock.method(DuckDb.prototype, 'query', async function (this: DuckDb, ...asked: Parameters<typeof query>) {
    const rows = await query.apply(this, asked);
    const path = /^COPY .* TO '([^']*\/views\/[^']*)'/.exec(asked[0].text)?.[1];
    if (path !== undefined) await hit(path);
    return rows;
  });
}

/** Somebody's hands, on a file that has just been written. */
const HANDS = [
  { what: 'is deleted', touch: async (path: string) => await rm(path) },
  { what: 'is deleted with its folder', touch: async (path: string) => await rm(dirname(path), { recursive: true }) },
  {
    what: 'is exchanged for that of another view',
    touch: async (path: string, other: string) => {
      await copyFile(other, `${path}.other`);
      await rename(`${path}.other`, path);
    },
  },
] as const;

for (const { what, touch } of HANDS) {
  test(`a file that ${what} in the moment in which it is made is made anew`, async (t) => {
    const { service, read, pages, dataDir } = await openRead(t);
    const made = await readdir(join(dataDir, 'views'), { recursive: true });
    const sorted = made.find((name) => name.endsWith('-1/whole.parquet')) ?? assert.fail('nothing was made');
    const touched = new Set<string>();
    onWritten(t, async (path) => {
      const of = path.endsWith('rows.parquet') ? 'an answer' : dirname(path).replace(/-\d+$/, '');
      if (touched.has(of)) return;
      touched.add(of);
      await touch(path, join(dataDir, 'views', sorted));
    });
    // All rows, so that the file has as many as the other.
    const all = pages.filtered.replace('n%20%3E%20200', 'n%20%3E%3D%200');
    assert.deepEqual(await read(all), [{ n: 105 }, { n: 106 }]);
    assert.deepEqual(await read(pages.difference.replace('key=n&', '')), [
      { change: 'added', n: 503 },
      { change: 'added', n: 504 },
    ]);
    const answer = await service.get(pages.parquet.replace('sort_by=n', 'filters=n%20%3E%3D%200'));
    const { rows } = await readParquet(Buffer.from(await answer.arrayBuffer()));
    assert.deepEqual([rows.length, rows[0], rows[499]], [500, ['100'], ['599']]);
    assert.deepEqual([touched.size, service.faults], [3, []]);
  });
}

for (const { what, path, from, rows } of [
  { what: 'a sorted export', path: 'results?sort_by=n%20desc', from: 0, rows: LONG_RESULT_ROWS },
  { what: 'the end of a sorted export', path: 'results?sort_by=n%20desc', from: 1_000_000, rows: 188_275 },
  {
    what: 'the export of a difference',
    path: 'diff/OTHER?sort_by=n%20desc&columns=n,w',
    from: 0,
    rows: LONG_RESULT_ROWS + 1,
  },
]) {
  test(`${what} is sent to its end though the folder \`views\` is removed meanwhile`, async (t) => {
    const service = await startHttpService(t, { ...SETTINGS, QRS_ROW_FILES: 'off' });
    const { id } = await publishLongResult(service, 7);
    const { id: other } = await service.publish(7, 'n,w\n-1,other\n', { types: { n: 'bigint' } });
    const line = (n: number) => `{"n":${n},"w":"${'x'.repeat(100)}"}\n`;
    const lines = Array.from({ length: LONG_RESULT_ROWS }, (_, index) => line(LONG_RESULT_ROWS - 1 - index));
    const expected = `${lines.join('')}${path.startsWith('diff') ? '{"n":-1,"w":"other"}\n' : ''}`;
    const address = `/v1/execution/${id}/${path.replace('OTHER', other)}&format=ndjson&ignore_max_datapoints_per_request=true`;
    const answer = await service.get(address, { headers: from === 0 ? {} : { range: `bytes=${from}-` } });
    assert.equal(answer.status, from === 0 ? 200 : 206);
    const read: Uint8Array[] = [];
    for await (const chunk of answer.body ?? []) {
      if (read.length === 0) await rm(join(service.commandLine.dataDir, 'views'), { recursive: true });
      read.push(chunk);
    }
    assert.ok(Buffer.concat(read).toString() === expected.slice(from), 'other bytes were sent');
    assert.deepEqual(service.faults, []);
    await service.stop();
    const answered = service.observed.findLast(({ kind }) => kind === 'answered');
    assert.equal(answered?.kind === 'answered' && answered.stats.rowCount, rows);
  });
}

test('files of views that have been put in the places of others are not read', async (t) => {
  const { service, all, first, dataDir } = await openRead(t);
  const names = await readdir(join(dataDir, 'views'), { recursive: true });
  const views = names.filter((name) => name.endsWith('whole.parquet')).map((name) => join(dataDir, 'views', name));
  assert.equal(views.length, 4);
  for (const path of views) await rename(path, `${path}.moved`);
  for (const [place, path] of views.entries()) await rename(`${views.at(place - 1)}.moved`, path);
  assert.deepEqual(await all(), first);
  assert.deepEqual(service.faults, []);
});

test('with a file in the place of `views` pages are read without one, and what needs one is refused until the file is gone', async (t) => {
  const { service, pages, read, told, all, first, dataDir } = await openRead(t);
  const exported = await told(pages.exported);
  await rm(join(dataDir, 'views'), { recursive: true });
  await writeFile(join(dataDir, 'views'), 'not a folder');
  service.commandLine.now += 1000;
  assert.deepEqual([await read(pages.sorted), await read(pages.filtered)], [first.sorted, first.filtered]);
  assert.deepEqual(await told(pages.exported), exported);
  assert.deepEqual(service.faults, []);
  for (const path of [pages.difference, pages.parquet]) {
    const { status, code, text } = await told(path);
    assert.deepEqual([status, code], [503, 'workspace_unavailable']);
    assert.match(text, /^\{"error":"a folder of the service that this needs cannot be used; [^"]*"\}$/);
  }
  assert.equal(service.faults.length, 2);
  for (const fault of service.faults) {
    assert.match(String(fault), /\/views is not a folder, or lies in something that is none; remove it/);
  }
  await rm(join(dataDir, 'views'));
  assert.deepEqual(await all(), first);
});
