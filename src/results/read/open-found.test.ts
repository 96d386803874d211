import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResultSet } from '../../domain/result-set.ts';
import type { AskedIndexes } from '../derived/indexes/result-indexes.ts';
import type { ReadPlan } from '../plan/read-plan.ts';
import type { View } from '../plan/view.ts';
import { type FoundReading, openFound } from './open-found.ts';
import type { SliceRequest } from './open-slice.ts';

const signal = new AbortController().signal;
const columns = [{ name: 'n', type: { kind: 'bigint' }, index: 0 }] as const;
const ROW = Buffer.from('{"n":1}');

/** Opens a page of 1,000 rows in descending order. @param rowBytes the size of each row */
async function open(
  rowBytes: number,
  datapointsMax: number | undefined,
  read: number[][],
  kind: 'rows' | 'candidates' = 'rows',
) {
  const resultSet: ResultSet = { columns, rowCount: 1000, cellBytes: 1000 * rowBytes, truncated: false, parts: [] };
  const rows: FoundReading['rows'] = {
    readRows: async (positions) => {
      read.push([...positions]);
      return positions.map(() => ({ text: ROW, cellBytes: rowBytes }));
    },
  };
  const plan = { datapointsMax, atLimit: 'continue', projection: [0] } as unknown as ReadPlan;
  const stored: SliceRequest = { plan, slice: { offset: 0, rowCountMax: 1000 }, columns, resultSet };
  const positions = Uint32Array.from({ length: 1000 }, (_, i) => 999 - i);
  const asked: AskedIndexes =
    kind === 'rows'
      ? { kind, positions, rowCount: 1000, columns: [] }
      : { kind, positions: positions.toSorted(), columns: [] };
  const reader: FoundReading['reader'] = {
    among: async (_parts, _view, _slice, among) => {
      read.push([...among]);
      return { chunk: { byteChunks: [ROW], rowCount: 1, cellBytes: rowBytes }, more: false };
    },
  };
  const view: View = { rows: { kind: 'all' }, sortKeys: [] };
  return await openFound(stored, view, asked, { format: 'json', rows, reader }, signal);
}

test('no more of the rows that indexes found are read than fit the page, a few aside', async () => {
  const read: number[][] = [];
  const page = await open(1000, 100, read);
  assert.deepEqual([page?.rowCount, page?.more], [10, true]);
  assert.deepEqual(
    read.map(([first, ...others]) => [first, others.at(-1)]),
    [[936, 999]],
  );
});

test('an answer that is too large for memory is not opened here', async () => {
  const read: number[][] = [];
  assert.equal((await open(1000, undefined, read))?.rowCount, 1000);
  read.length = 0;
  assert.equal(await open(100_000, undefined, read), undefined);
  assert.deepEqual(read, []);
});

test('nor are rows read to be checked that are too large for memory', async () => {
  const read: number[][] = [];
  assert.equal((await open(1000, undefined, read, 'candidates'))?.rowCount, 1);
  assert.equal(read.length, 1);
  assert.equal(await open(100_000, undefined, read, 'candidates'), undefined);
  assert.equal(read.length, 1);
});
