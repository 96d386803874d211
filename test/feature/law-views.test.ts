/** The law of materialised views: their parts, one after the other, are the view. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { parseColumnType } from '../../src/domain/column-type.ts';
import type { Part } from '../../src/domain/result-set.ts';
import type { DuckDb } from '../../src/duckdb/duckdb.ts';
import type { View } from '../../src/results/compile-view.ts';
import { materializeView } from '../../src/results/materialize-view.ts';
import { openFolderDuckDb } from './folder-duckdb.ts';

const CASES = Number(process.env.TEST_CASES ?? 25);
const signal = new AbortController().signal;
const integer = parseColumnType('bigint');
const columns = [
  { name: 'position', type: integer },
  { name: 'group', type: integer },
  { name: 'keep', type: parseColumnType('boolean') },
];
/** Rows of the three parts of the result that the views are of. */
const STORED = [9000, 1, 11_000] as const;

interface Row {
  readonly position: number;
  /** Few values, and none for every seventh row: the order of ties is that of positions. */
  readonly group: number | undefined;
  readonly keep: boolean;
}

const rowAt = (position: number): Row => ({
  position,
  group: position % 7 === 3 ? undefined : (position * 31) % 5,
  keep: position % 10 === 0,
});
const ROWS = Array.from({ length: STORED.reduce((sum, rows) => sum + rows, 0) }, (_, position) => rowAt(position));

let directory: string;
let duckDb: DuckDb;
const paths: string[] = [];

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'qrs-views-'));
  duckDb = await openFolderDuckDb(directory, 3);
  let from = 0;
  for (const rows of STORED) {
    const path = join(directory, `stored-${paths.length}.parquet`);
    const values = `SELECT i AS c0, CASE WHEN i % 7 <> 3 THEN (i * 31) % 5 END AS c1, i % 10 = 0 AS c2`;
    const text = `COPY (${values} FROM range(${from}, ${from + rows}) r(i)) TO '${path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)`;
    await duckDb.query({ text, values: [] }, signal);
    paths.push(path);
    from += rows;
  }
});

after(async () => {
  await duckDb[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

async function positionsIn({ key }: Part): Promise<readonly number[]> {
  const rows = await duckDb.query(
    { text: 'SELECT c0 FROM read_parquet($1) ORDER BY file_row_number', values: [key] },
    signal,
  );
  return rows.map(([position]) => Number(position));
}

const orders = fc.record({ column: fc.constantFrom(0, 1), descending: fc.boolean(), nullsFirst: fc.boolean() });
const views = fc.record({
  order: fc.option(orders),
  onlyKept: fc.boolean(),
  partRows: fc.constantFrom(2048, 6144, 20_001, 30_000),
});

test('parts joined are the rows that the filter keeps, in the order of the keys, ties by position', async () => {
  let made = 0;
  const law = fc.asyncProperty(views, async ({ order, onlyKept, partRows }) => {
    made += 1;
    const folder = join(directory, `view-${made}`);
    await mkdir(folder);
    const view: View = {
      rows: onlyKept
        ? { kind: 'matching', predicate: { kind: 'flag', column: { index: 2, type: parseColumnType('boolean') } } }
        : { kind: 'all' },
      sortKeys: order === null ? [] : [{ ...order, columnIndex: order.column, type: integer }],
    };
    const source = { columns, rowCount: ROWS.length, cellBytes: 0, parts: [], truncated: false };
    const { resultSet, bytes } = await materializeView(duckDb, view, source, paths, folder, partRows, signal);

    const expected = ROWS.filter(({ keep }) => keep || !onlyKept);
    if (order !== null) expected.sort((a, b) => compare(a, b, order) || a.position - b.position);
    const positions = (await Promise.all(resultSet.parts.map(positionsIn))).flat();
    assert.deepEqual(
      positions,
      expected.map(({ position }) => position),
    );
    assert.equal(resultSet.rowCount, expected.length);
    for (const part of resultSet.parts) {
      const rows = expected.slice(part.firstRow, part.firstRow + partRows);
      const sizes = rows.map(({ group }) => 8 + (group === undefined ? 0 : 8) + 1);
      assert.equal(part.rowCount, rows.length);
      assert.equal(
        part.cellBytes,
        sizes.reduce((sum, size) => sum + size, 0),
      );
      assert.equal(part.rowBytesMax, Math.max(...sizes));
    }
    assert.equal(
      bytes,
      resultSet.parts.reduce((sum, part) => sum + part.objectBytes, 0),
    );
    // Nothing else stays on the disk.
    assert.equal((await readdir(folder)).length, resultSet.parts.length);
  });
  await fc.assert(law, { numRuns: CASES });
});

function compare(
  a: Row,
  b: Row,
  order: { readonly column: number; readonly descending: boolean; readonly nullsFirst: boolean },
) {
  const [x, y] = order.column === 0 ? [a.position, b.position] : [a.group, b.group];
  if (x === undefined || y === undefined) {
    if (x === y) return 0;
    return (x === undefined) === order.nullsFirst ? -1 : 1;
  }
  return order.descending ? y - x : x - y;
}
