import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { sleep } from '../../../test/real-time.ts';
import { DuckDb } from '../../duckdb/duckdb.ts';
import { WorkQueue } from '../limits/work-queue.ts';
import { type ExportedRows, ParquetExports } from './parquet-exports.ts';

const NEVER = new AbortController().signal;

/** A stored part of 1,000 rows of one bigint, and a place to make Parquet files from it. */
async function setUp(t: TestContext, bytesMax: number) {
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
  const rows: ExportedRows = {
    columns: [{ name: 'n', type: { kind: 'bigint' }, index: 0 }],
    keyId: 'ann',
    parts: [
      {
        key: part,
        firstRow: 0,
        rowCount: 1000,
        cellBytes: 8000,
        rowBytesMax: 8,
        objectBytes: (await stat(part)).size,
        sha256: '',
      },
    ],
    open: async ({ key }) => ({ path: key, [Symbol.asyncDispose]: async () => undefined }),
    from: 0,
    to: 1000,
  };
  const queue = new WorkQueue({ runningMax: 1, waitingMax: 10 });
  const derived = { giveUpIdle: async () => false };
  const exports = new ParquetExports({ directory, bytesMax, duckDb, queue, derived, millisMax: 60_000, sleep });
  return { exports, rows, directory };
}

test('the file is there while it is taken, and then no more', async (t) => {
  const { exports, rows, directory } = await setUp(t, 1_000_000);
  const measureSegments: number[] = [];
  const chunks = exports.chunks(rows, NEVER, (cellBytes) => measureSegments.push(cellBytes));
  assert.deepEqual(
    [exports.bytes, await readdir(directory)],
    [0, []],
    'nothing is done before the first chunk is asked for',
  );
  const { value } = await chunks.next();
  assert.equal(Buffer.from(value ?? []).toString('latin1', 0, 4), 'PAR1');
  assert.deepEqual(measureSegments, [8000]);
  assert.equal((await readdir(directory)).length, 1);
  assert(exports.bytes > 0);
  assert.equal((await chunks.next()).done, true);
  assert.deepEqual([exports.bytes, await readdir(directory)], [0, []]);
});

test('a reader that gives up leaves nothing behind', async (t) => {
  const { exports, rows, directory } = await setUp(t, 1_000_000);
  const chunks = exports.chunks(rows, NEVER, () => undefined);
  await chunks.next();
  await chunks.return(undefined);
  assert.deepEqual([exports.bytes, await readdir(directory)], [0, []]);
});

test('nor does one that has gone before the file was written', async (t) => {
  const { exports, rows, directory } = await setUp(t, 1_000_000);
  const gone = new AbortController();
  // The part is being opened when the client goes.
  const open: ExportedRows['open'] = async (part, range) => {
    gone.abort(new Error('the client has gone'));
    return await rows.open(part, range, NEVER);
  };
  const chunks = exports.chunks({ ...rows, open }, gone.signal, () => undefined);
  await assert.rejects(chunks.next(), { message: 'the client has gone' });
  assert.deepEqual([exports.bytes, await readdir(directory)], [0, []]);
});

test('beyond the disk set apart the next is refused; one alone is always let in', async (t) => {
  const { exports, rows } = await setUp(t, 0);
  const [first, second] = [exports.chunks(rows, NEVER, () => undefined), exports.chunks(rows, NEVER, () => undefined)];
  await first.next();
  await assert.rejects(second.next(), { code: 'overloaded', retryAfterSeconds: 5 });
  await first.return(undefined);
  const third = exports.chunks(rows, NEVER, () => undefined);
  assert.equal((await third.next()).done, false);
  await third.return(undefined);
});

test('fewer rows than the manifest says are no whole answer', async (t) => {
  const { exports, rows, directory } = await setUp(t, 1_000_000);
  const parts = rows.parts.map((part) => ({ ...part, rowCount: 1001 }));
  await assert.rejects(exports.chunks({ ...rows, parts, to: 1001 }, NEVER, () => undefined).next(), {
    code: 'result_damaged',
  });
  assert.deepEqual(await readdir(directory), []);
});
