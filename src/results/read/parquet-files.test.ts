import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { sleep } from '../../../test/real-time.ts';
import { DuckDb } from '../../duckdb/duckdb.ts';
import { DerivedBudget } from '../derived/budget.ts';
import { WorkQueue } from '../limits/work-queue.ts';
import { type ExportedRows, ParquetExports } from './parquet-exports.ts';
import { type OpenParquetFile, type ParquetContent, ParquetFiles } from './parquet-files.ts';

const NEVER = new AbortController().signal;

interface Bounds {
  readonly bytesMax?: number;
  readonly keptBytesMax?: number;
  readonly filesMax?: number;
}

/** A stored part of 1,000 rows with one bigint column, and a `ParquetFiles` that writes from it. */
async function setUp(t: TestContext, { bytesMax = 1_000_000, keptBytesMax = 1_000_000, filesMax = 10 }: Bounds = {}) {
  const root = await mkdtemp(join(tmpdir(), 'qrs-exports-'));
  t.after(() => rm(root, { recursive: true, force: true }));
  const [directory, part] = [join(root, 'exports'), join(root, 'part.parquet')];
  await mkdir(directory);
  const duckDb = await DuckDb.open({
    threads: 1,
    memoryLimit: '256MB',
    tempDirectory: join(root, 'tmp'),
    tempSizeMax: '1GB',
    sleep,
    allowedDirectories: [root],
  });
  t.after(() => duckDb[Symbol.asyncDispose]());
  const copy = `COPY (SELECT range AS c0 FROM range(1000)) TO '${part}' (FORMAT parquet)`;
  await duckDb.query({ text: copy, values: [] }, NEVER);
  const objectBytes = (await stat(part)).size;
  const layout = { firstRow: 0, rowCount: 1000, cellBytes: 8000, rowBytesMax: 8, objectBytes, sha256: '' };
  const rows: ExportedRows = {
    columns: [{ name: 'n', type: { kind: 'bigint' }, index: 0 }],
    keyId: 'ann',
    parts: [{ key: part, ...layout }],
    open: async ({ key }) => ({ path: key, [Symbol.asyncDispose]: async () => undefined }),
    from: 0,
    to: 1000,
  };
  const queue = new WorkQueue({ runningMax: 1, waitingMax: 10 });
  const budget = new DerivedBudget(keptBytesMax);
  let now = 0;
  const clock = () => {
    now += 1;
    return now;
  };
  const writer = new ParquetExports({ duckDb, queue, room: budget.room, millisMax: 60_000, sleep });
  const files = new ParquetFiles({ directory, writer, bytesMax, filesMax, budget, clock });
  let opened = 0;
  let released = 0;
  const content = (of: ExportedRows) => async (): Promise<ParquetContent> => {
    opened += 1;
    const release = async () => {
      released += 1;
    };
    return { rows: of, headers: { 'row-count': '1000' }, [Symbol.asyncDispose]: release };
  };
  const get = (name: string | undefined, signal = NEVER) => files.get(name, content(rows), signal);
  return { files, rows, directory, get, content, counts: () => [opened, released] };
}

async function bytesOf(opened: OpenParquetFile, from = 0, to = opened.file.bytes): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of opened.chunks({ from, to }, NEVER)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test('a file is made once for all who ask at the same time, kept, and used again', async (t) => {
  const { files, directory, get, counts } = await setUp(t);
  const [one, other] = await Promise.all([get('a'), get('a')]);
  assert.deepEqual(counts(), [1, 1]);
  const { file } = one;
  assert.deepEqual(
    [file.rowCount, file.cellBytes, file.datapoints, file.headers],
    [1000, 8000, 1000, { 'row-count': '1000' }],
  );
  const whole = await bytesOf(one);
  assert.equal(whole.toString('latin1', 0, 4) + whole.toString('latin1', whole.length - 4), 'PAR1PAR1');
  assert.equal(whole.length, file.bytes);
  assert.deepEqual([files.bytes, files.keptBytes], [file.bytes, 0], 'the other one has it still');
  assert((await bytesOf(other, 5, 50)).equals(whole.subarray(5, 50)));
  assert.deepEqual([files.bytes, files.keptBytes], [0, file.bytes]);
  const again = (await files.find('a')) ?? assert.fail('it was kept');
  assert((await bytesOf(again)).equals(whole));
  assert.deepEqual([counts(), (await readdir(directory)).length], [[1, 1], 1]);
  assert.equal(await files.find('b'), undefined);
});

test('a file without a name is made anew for each request, and removed once it has been read', async (t) => {
  const { directory, get, counts } = await setUp(t);
  const [one, other] = await Promise.all([get(undefined), get(undefined)]);
  assert.equal((await readdir(directory)).length, 2);
  await Promise.all([bytesOf(one), bytesOf(other)]);
  assert.deepEqual([counts(), await readdir(directory)], [[2, 2], []]);
});

test('a file that is being read stays, whatever the bound, and is removed after that', async (t) => {
  const { files, directory, get } = await setUp(t, { keptBytesMax: 0 });
  const one = await get('a');
  const other = (await files.find('a')) ?? assert.fail('it is being read');
  await bytesOf(one);
  assert.equal((await readdir(directory)).length, 1);
  assert.equal((await bytesOf(other)).length, other.file.bytes);
  assert.deepEqual([await readdir(directory), await files.find('a')], [[], undefined]);
});

test('beyond the number of files the least recently used goes', async (t) => {
  const { files, get } = await setUp(t, { filesMax: 2 });
  for (const name of ['a', 'b']) await bytesOf(await get(name));
  await (await files.find('a'))?.[Symbol.asyncDispose]();
  await bytesOf(await get('c'));
  const there = async (name: string) => {
    const found = await files.find(name);
    await found?.[Symbol.asyncDispose]();
    return found !== undefined;
  };
  assert.deepEqual([await there('a'), await there('b'), await there('c')], [true, false, true]);
});

test('a file whose name was removed can still be read by whoever has it open; the next request gets a new one', async (t) => {
  const { files, directory, get, counts } = await setUp(t);
  const open = await get('a');
  for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true });
  assert.equal((await bytesOf(open)).length, open.file.bytes);
  assert.equal(await files.find('a'), undefined);
  await bytesOf(await get('a'));
  assert.deepEqual(counts(), [2, 2]);
});

test('one request that leaves does not stop the file for others; when all have left, nothing stays behind', async (t) => {
  const { files, directory, rows, content } = await setUp(t);
  const [first, second] = [new AbortController(), new AbortController()];
  const opening = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const slow: ExportedRows = {
    ...rows,
    open: async (...asked) => {
      opening.resolve();
      await goOn.promise;
      return await rows.open(...asked);
    },
  };
  const asked = [first, second].map(({ signal }) => files.get('a', content(slow), signal));
  await opening.promise;
  first.abort(new Error('the first has gone'));
  await assert.rejects(asked[0] ?? assert.fail(), { message: 'the first has gone' });
  goOn.resolve();
  const open = (await asked[1]) ?? assert.fail();
  await open[Symbol.asyncDispose]();
  assert.equal((await readdir(directory)).length, 1);

  const gone = new AbortController();
  const leaving: ExportedRows = {
    ...rows,
    open: async (part, range) => {
      gone.abort(new Error('the client has gone'));
      return await rows.open(part, range, NEVER);
    },
  };
  await assert.rejects(files.get('b', content(leaving), gone.signal), { message: 'the client has gone' });
  // The next file is made after it, in the same queue.
  await (await files.get('c', content(rows), NEVER))[Symbol.asyncDispose]();
  while (files.bytes > 0) await turn();
  assert.equal((await readdir(directory)).length, 2);
});

test('beyond the disk space set apart a new file is refused; a file alone is always admitted, and kept files refuse nobody', async (t) => {
  const { get } = await setUp(t, { bytesMax: 0 });
  const first = await get('a');
  await assert.rejects(get('b'), { code: 'overloaded', retryAfterSeconds: 5 });
  await first[Symbol.asyncDispose]();
  await bytesOf(await get('c'));
});

test('a part with fewer rows than the manifest says is an error, not an answer', async (t) => {
  const { files, rows, directory, content } = await setUp(t);
  const parts = rows.parts.map((part) => ({ ...part, rowCount: 1001 }));
  await assert.rejects(files.get('a', content({ ...rows, parts, to: 1001 }), NEVER), { code: 'result_damaged' });
  assert.deepEqual([await readdir(directory), await files.find('a')], [[], undefined]);
});
