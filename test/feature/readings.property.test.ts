/** The law of the fast mode: its answer equals the safe mode's, or it says that it does not know. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { parseColumnType } from '../../src/domain/column-type.ts';
import type { Part } from '../../src/domain/result-set.ts';
import type { DuckDb } from '../../src/duckdb/duckdb.ts';
import { DiskRoom } from '../../src/files/disk-room.ts';
import { compileRange } from '../../src/results/compile/range.ts';
import { ROW_SEPARATOR } from '../../src/results/compile/row-encoding.ts';
import { WorkQueue } from '../../src/results/limits/work-queue.ts';
import type { Chunk } from '../../src/results/read/chunk.ts';
import { PAGE_RANGE_ROWS, type PartRange, rangesOf } from '../../src/results/read/part-ranges.ts';
import { PartReader } from '../../src/results/read/part-reader.ts';
import { openFolderDuckDb } from './folder-duckdb.ts';

const STATEMENT_MILLIS_MAX = 60_000;

const CASES = Number(process.env.TEST_CASES ?? 60);
const ROWS = 40_000;
/** The place of the only value that is not finite. */
const NOT_FINITE = 25_000;
const signal = new AbortController().signal;

const columns = [
  { name: 'position', type: parseColumnType('bigint'), index: 0 },
  { name: 'amount', type: parseColumnType('double'), index: 1 },
  { name: 'ratio', type: parseColumnType('real'), index: 2 },
  { name: 'note', type: parseColumnType('varchar'), index: 3 },
];

let directory: string;
let part: Part;
/** With one thread, as in the service, rows come in order. With more, rows of several row groups do not. */
let duckDbs: readonly DuckDb[];

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'qrs-readings-'));
  duckDbs = await Promise.all([openFolderDuckDb(directory, 1), openFolderDuckDb(directory, 4)]);
  const key = join(directory, 'part.parquet');
  const rows = `SELECT i::BIGINT AS c0, CASE WHEN i = ${NOT_FINITE} THEN 'nan'::DOUBLE WHEN i % 5 > 0 THEN i / 8 END AS c1,
    (i / 3)::FLOAT AS c2, CASE WHEN i % 3 > 0 THEN 'a "quoted", ' || i END AS c3 FROM range(${ROWS}) r(i) ORDER BY i`;
  const text = `COPY (${rows}) TO '${key}' (FORMAT parquet, ROW_GROUP_SIZE 2048)`;
  await duckDbs[0]?.query({ text, values: [] }, signal);
  part = { key, firstRow: 0, rowCount: ROWS, cellBytes: ROWS * 40, rowBytesMax: 60, objectBytes: 1, sha256: '' };
});

after(async () => {
  for (const duckDb of duckDbs) await duckDb[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

/** @param beside whether pages are read at the same time */
async function read(duckDb: DuckDb, format: 'json' | 'csv', ranges: readonly PartRange[], beside: boolean) {
  const limits = { runningMax: 2, waitingMax: 100 };
  const pageTurns = new WorkQueue(limits);
  const reader = new PartReader(
    { columns, format },
    {
      scanner: duckDb,
      rangeReader: duckDb,
      prefetch: undefined,
      rows: undefined,
      rangesAtOnce: 3,
      pageTurns,
      assembling: new WorkQueue(limits),
      exports: new WorkQueue(limits, pageTurns),
      searches: new WorkQueue(limits),
      keyId: 'ann',
      statementMillisMax: STATEMENT_MILLIS_MAX,
      monotonic: () => 0,
      // Pauses take no time, and the time limit is never reached.
      sleep: (millis) => (millis < STATEMENT_MILLIS_MAX ? Promise.resolve() : new Promise(() => undefined)),
      room: new DiskRoom(),
      open: async ({ key }) => ({ path: key, [Symbol.asyncDispose]: async () => undefined }),
    },
  );
  const page = Promise.withResolvers<void>();
  const reading = beside ? pageTurns.run('ann', () => page.promise, signal) : undefined;
  const chunks = await Array.fromAsync(reader.ranges(ranges, beside, signal));
  page.resolve();
  await reading;
  return joined(chunks, format);
}

function joined(chunks: readonly Chunk[], format: 'json' | 'csv') {
  return {
    text: chunks.map(({ byteChunks }) => Buffer.concat(byteChunks).toString()).join(ROW_SEPARATOR[format]),
    cellBytes: chunks.reduce((sum, chunk) => sum + chunk.cellBytes, 0),
  };
}

test('rows read in the fast mode, in ranges side by side, equal one read in the safe mode', async () => {
  const slices = fc.record({ from: fc.nat(ROWS - 1), rows: fc.integer({ min: 1, max: ROWS }) });
  const formats = fc.constantFrom('json', 'csv');
  const law = fc.asyncProperty(slices, formats, fc.boolean(), async ({ from, rows }, format, beside) => {
    const to = Math.min(ROWS, from + rows);
    const statement = compileRange({ columns, format }, { path: part.key, from, to }, 'safe');
    for (const duckDb of duckDbs) {
      const [row] = await duckDb.query(statement, signal);
      const [bytes, , cellBytes] = row as unknown as [Uint8Array, bigint, bigint];
      const ranges = rangesOf([part], from, to, PAGE_RANGE_ROWS, columns.length);
      const expected = { text: Buffer.from(bytes).toString(), cellBytes: Number(cellBytes) };
      assert.deepEqual(await read(duckDb, format, ranges, beside), expected);
    }
  });
  await fc.assert(law, { numRuns: CASES });
});

async function holds(duckDb: DuckDb | undefined, from: number, to: number): Promise<unknown> {
  const [row] =
    (await duckDb?.query(compileRange({ columns, format: 'json' }, { path: part.key, from, to }, 'fast'), signal)) ??
    [];
  return row?.[3];
}

test('the fast mode reports a value that is not finite', async () => {
  assert.equal(await holds(duckDbs[0], 0, NOT_FINITE), true);
  assert.equal(await holds(duckDbs[0], 0, NOT_FINITE + 1), false);
  assert.equal(await holds(duckDbs[0], NOT_FINITE, NOT_FINITE + 1), false);
  assert.equal(await holds(duckDbs[0], NOT_FINITE + 1, ROWS), true);
});

test('the fast mode reports rows that did not come in order', async () => {
  const { text, values } = compileRange({ columns, format: 'csv' }, { path: part.key, from: 0, to: ROWS }, 'fast');
  // The same statement over rows in another order.
  const reversed = text.replace(/FROM (read_parquet\(.*?\))/, 'FROM (SELECT * FROM $1 ORDER BY file_row_number DESC)');
  assert.notEqual(reversed, text);
  const [row] = (await duckDbs[0]?.query({ text: reversed, values }, signal)) ?? [];
  assert.equal(row?.[3], false);
});
