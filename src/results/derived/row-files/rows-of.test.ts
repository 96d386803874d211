import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeTime } from '../../../../test/fake-time.ts';
import type { ResultSet } from '../../../domain/result-set.ts';
import { letOthersRun } from '../../../domain/time.ts';
import type { OpenRowFiles } from './open-row-files.ts';
import { RangesAhead } from './ranges-ahead.ts';
import type { RowOrigin } from './row-origin.ts';
import { RowsOf } from './rows-of.ts';

/** It never runs out, since time stands still. */
const PATIENCE = { millis: 30_000, sleep: new FakeTime(0).sleep };
const COLUMNS = [{ name: 'n', type: { kind: 'bigint' } }] as const;
const ENCODING = { columns: [{ ...COLUMNS[0], index: 0 }], format: 'json' } as const;
/** A part of 80,000 rows, of which an encoded range has 16,384. */
const part = {
  key: 'x/part-0.parquet',
  sha256: 'aa',
  firstRow: 0,
  rowCount: 80_000,
  cellBytes: 640_000,
  rowBytesMax: 8,
  objectBytes: 100_000,
};
const resultSet = {
  columns: COLUMNS,
  parts: [part],
  rowCount: 80_000,
  cellBytes: 640_000,
} satisfies Partial<ResultSet>;

/** A result without row files, and the first rows of the encoded ranges that have been begun of it. None of them is ever there. */
function withoutRowFiles() {
  const begun: number[] = [];
  const origin: Pick<RowOrigin, 'resultSet' | 'fileOf' | 'hold'> = {
    resultSet: resultSet as unknown as ResultSet,
    fileOf: () => ({ path: 'x.rows', identity: 'x' }),
    hold: () => ({ [Symbol.dispose]: () => undefined }),
  };
  const open: Pick<OpenRowFiles, 'find'> = { find: async () => undefined };
  const rangesAhead = new RangesAhead(100_000_000, () => 0, PATIENCE);
  const rows = new RowsOf(
    origin as RowOrigin,
    { open: open as OpenRowFiles, rangesAhead },
    { onRead: () => undefined, onDamaged: () => assert.fail('no row file is read') },
  );
  const readOn = async (row: number, isLong: boolean) => {
    await rows.readOn({ row, isLong }, ENCODING, async (_part, _columns, { from }) => {
      begun.push(from);
      return await new Promise(() => undefined);
    });
    await letOthersRun();
    return begun.splice(0);
  };
  return { readOn };
}

test('after a page of a few rows the encoded range is begun that it ends in, and those that follow, three at a time', async () => {
  const { readOn } = withoutRowFiles();
  assert.deepEqual(await readOn(25_000, false), [16_384, 32_768, 49_152]);
  assert.deepEqual(await readOn(26_000, false), []);
});

test('after a long page, of whose last row group DuckDB has encoded the most, those that follow it are begun', async () => {
  assert.deepEqual(await withoutRowFiles().readOn(25_000, true), [32_768, 49_152, 65_536]);
  assert.deepEqual(await withoutRowFiles().readOn(32_768, true), [32_768, 49_152, 65_536]);
  assert.deepEqual(await withoutRowFiles().readOn(75_000, true), []);
});

test('nothing follows the last row', async () => {
  assert.deepEqual(await withoutRowFiles().readOn(80_000, true), []);
  assert.deepEqual(await withoutRowFiles().readOn(80_000, false), []);
});
