/**
 * Laws of views: a materialised view's joined parts are the view; a slice found by keys first and read then equals the slice
 * that a scan gives.
 */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { parseColumnType } from '../../src/domain/column-type.ts';
import type { Part } from '../../src/domain/result-set.ts';
import type { DuckDb } from '../../src/duckdb/duckdb.ts';
import { compilePositions, compileSliceAt, compileViewSlice } from '../../src/results/compile/view.ts';
import { materializeView } from '../../src/results/derived/views/materialize-view.ts';
import type { View } from '../../src/results/plan/view.ts';
import type { TextFormat } from '../../src/results/request/format.ts';
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
  /** Few values, and null in every seventh row. Ties are in the order of positions. */
  readonly group: number | undefined;
  readonly keep: boolean;
}

const rowAt = (position: number): Row => ({
  position,
  group: position % 7 === 3 ? undefined : (position * 31) % 5,
  keep: position % 10 === 0,
});
/** In cell bytes. */
const sizeOf = ({ group }: Row) => 8 + (group === undefined ? 0 : 8) + 1;
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

interface Order {
  readonly column: number;
  readonly descending: boolean;
  readonly nullsFirst: boolean;
}

const orders = fc.record({ column: fc.constantFrom(0, 1), descending: fc.boolean(), nullsFirst: fc.boolean() });

function viewOf(onlyKept: boolean, keys: readonly Order[]): View {
  const predicate = { kind: 'flag', column: { index: 2, type: parseColumnType('boolean') } } as const;
  return {
    rows: onlyKept ? { kind: 'matching', predicate } : { kind: 'all' },
    sortKeys: keys.map((key) => ({ ...key, columnIndex: key.column, type: integer })),
  };
}

const views = fc.record({
  order: fc.option(orders),
  onlyKept: fc.boolean(),
  partRows: fc.constantFrom(6144, 9000, 20_001, 30_000),
});

/** Said to be so wide that a view has row groups of about 2,048 rows, between which its file is cut. */
const WIDE_PART: Part = {
  key: '',
  firstRow: 0,
  rowCount: ROWS.length,
  cellBytes: ROWS.length * 16_384,
  rowBytesMax: 16_384,
  objectBytes: 0,
  sha256: '',
};

test('joined parts are the rows that the filter keeps, in the order of the keys, ties by position', async () => {
  let made = 0;
  const law = fc.asyncProperty(views, async ({ order, onlyKept, partRows }) => {
    made += 1;
    const folder = join(directory, `view-${made}`);
    await mkdir(folder);
    const view = viewOf(onlyKept, order === null ? [] : [order]);
    const source = { columns, rowCount: ROWS.length, cellBytes: 0, parts: [WIDE_PART], truncated: false };
    const { resultSet } = await materializeView(
      duckDb,
      { view, resultSet: source, paths },
      { directory: folder, partRows },
      signal,
    );

    const expected = ROWS.filter(({ keep }) => keep || !onlyKept);
    if (order !== null) expected.sort((a, b) => compare(a, b, order) || a.position - b.position);
    const positions = (await Promise.all(resultSet.parts.map(positionsIn))).flat();
    assert.deepEqual(
      positions,
      expected.map(({ position }) => position),
    );
    assert.equal(resultSet.rowCount, expected.length);
    let firstRow = 0;
    for (const part of resultSet.parts) {
      assert.equal(part.firstRow, firstRow);
      assert.ok(part.rowCount > 0 && part.rowCount <= partRows, `${part.rowCount} rows`);
      firstRow += part.rowCount;
      const rows = expected.slice(part.firstRow, firstRow);
      const sizes = rows.map(sizeOf);
      assert.equal(part.rowCount, rows.length);
      assert.equal(
        part.cellBytes,
        sizes.reduce((sum, size) => sum + size, 0),
      );
      assert.equal(part.rowBytesMax, Math.max(...sizes));
    }
    if (expected.length > partRows) assert.ok(resultSet.parts.length > 1);
    // Nothing else stays on disk.
    assert.equal((await readdir(folder)).length, resultSet.parts.length);
  });
  await fc.assert(law, { numRuns: CASES });
});

test('parts of all rows in another order have the sizes of the result, unless its rows are wide', async () => {
  const cellBytes = ROWS.reduce((sum, row) => sum + sizeOf(row), 0);
  for (const rowBytesMax of [17, 100 * columns.length, 100 * columns.length + 1]) {
    const folder = join(directory, `sized-${rowBytesMax}`);
    await mkdir(folder);
    const part = { ...WIDE_PART, cellBytes, rowBytesMax };
    const source = { columns, rowCount: ROWS.length, cellBytes, parts: [part], truncated: false };
    const view = viewOf(false, [{ column: 1, descending: true, nullsFirst: false }]);
    const made = await materializeView(
      duckDb,
      { view, resultSet: source, paths },
      { directory: folder, partRows: 1 },
      signal,
    );
    const { parts } = made.resultSet;
    assert.deepEqual(
      parts.map(({ rowCount }) => rowCount),
      [16_384, ROWS.length - 16_384],
    );
    assert.equal(made.resultSet.cellBytes, cellBytes);
    assert.equal(
      parts.reduce((sum, { cellBytes: ofPart }) => sum + ofPart, 0),
      cellBytes,
    );
    // Each part is measured where rows may be so wide that a page ends before its last row.
    const widest = rowBytesMax > 100 * columns.length ? 17 : rowBytesMax;
    assert.ok(parts.every((each) => each.rowBytesMax === widest));
  }
});

const slices = fc.record({
  keys: fc.array(orders, { minLength: 1, maxLength: 2 }),
  onlyKept: fc.boolean(),
  projection: fc.subarray([0, 1, 2], { minLength: 1 }),
  format: fc.constantFrom<TextFormat>('json', 'ndjson', 'csv'),
  offset: fc.constantFrom(0, 0, 7, 1990, 30_000),
  rowCountMax: fc.constantFrom(1, 2, 100, 1000),
  cellBytesMax: fc.constantFrom(undefined, 1, 500),
});

test('a slice found by keys first and read then equals the slice that a scan gives', async () => {
  const law = fc.asyncProperty(slices, async ({ keys, onlyKept, projection, format, ...slice }) => {
    const view = viewOf(onlyKept, keys);
    const asked = columns.flatMap((column, index) => (projection.includes(index) ? [{ ...column, index }] : []));
    const [scanned] = await duckDb.query(
      compileViewSlice({ columns: asked, format }, paths, view, slice, 'asked'),
      signal,
    );
    const found = await duckDb.query(compilePositions(paths, view, slice), signal);
    assert.equal(found.length, Number(scanned?.[3]));
    const positions = found
      .slice(0, slice.rowCountMax)
      .map(([part, row]) => ({ part: Number(part), row: BigInt(Number(row)) }));
    if (positions.length === 0) return;
    const [read] = await duckDb.query(
      compileSliceAt({ columns: asked, format }, paths, view, slice, positions),
      signal,
    );
    assert.deepEqual(read?.slice(0, 3), scanned?.slice(0, 3));
    assert.equal(Number(read?.[3]), positions.length);
  });
  await fc.assert(law, { numRuns: CASES * 4 });
});

function compare(a: Row, b: Row, order: Order) {
  const [x, y] = order.column === 0 ? [a.position, b.position] : [a.group, b.group];
  if (x === undefined || y === undefined) {
    if (x === y) return 0;
    return (x === undefined) === order.nullsFirst ? -1 : 1;
  }
  return order.descending ? y - x : x - y;
}
