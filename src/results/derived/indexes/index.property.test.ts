/**
 * Laws of indexes, over random columns of every type in several parts and row groups. The order of entries is DuckDB's order,
 * and that of a plain comparison. Bounds, positions, nulls and ranks are those of the column. A file with one changed byte is
 * refused, or gives what it gave before. TEST_SEED=… repeats a run.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Cell, compareCells } from '../../../../test/feature/naive-interpreter.ts';
import { Random, randomCell, SCALAR_TYPES, storeAs } from '../../../../test/feature/random-results.ts';
import { sleep } from '../../../../test/real-time.ts';
import { type ColumnType, formatColumnType } from '../../../domain/column-type.ts';
import { DuckDb } from '../../../duckdb/duckdb.ts';
import type { Value } from '../../plan/predicate.ts';
import { NotBuildable } from '../build-queue.ts';
import { buildIndex, type IndexBuild } from './build-index.ts';
import { IndexFile } from './index-file.ts';
import { IndexDamaged, NO_RANK } from './index-format.ts';
import { type Key, keyFormOf, keyOf } from './ordered-key.ts';

const SEED = Number(process.env.TEST_SEED ?? 1);
const CASES = Number(process.env.TEST_CASES ?? 1);
/** Of all indexes here: which column they are of is told from it. */
const IDENTITY = '0123456789abcdef';
const PART_ROWS = 3000;
const ROWS = 7000;

const MORE_TYPES: readonly ColumnType[] = [
  { kind: 'decimal', precision: 60, scale: 5 },
  { kind: 'decimal', precision: 9, scale: 2 },
];
const INDEXED = [...SCALAR_TYPES, ...MORE_TYPES].filter((type) => keyFormOf(type) !== undefined);

interface Column {
  readonly type: ColumnType;
  readonly cells: readonly Cell[];
}

test('every type has keys except intervals, times with a zone, lists, maps and rows', () => {
  const without = SCALAR_TYPES.filter((type) => keyFormOf(type) === undefined).map(formatColumnType);
  assert.deepEqual(without, ['time with time zone', 'interval']);
  assert.equal(keyFormOf({ kind: 'array', element: { kind: 'bigint' } }), undefined);
});

test(`entries are in order, and bounds, positions, nulls and ranks are those of the column (seed ${SEED})`, async (t) => {
  await using bench = await Bench.open();
  for (let number = 0; number < CASES * INDEXED.length; number += 1) {
    const random = new Random(SEED * 1_000_003 + number);
    const type = INDEXED[number % INDEXED.length] as ColumnType;
    const column = randomColumn(random, type);
    const path = await bench.build(column, `case-${number}`, t.signal);
    const others = Array.from({ length: 20 }, () => randomCell(random, type));
    await checkIndex(path, column, others).catch((error: unknown) => {
      throw new Error(`${formatColumnType(type)}, case ${number} of seed ${SEED}`, { cause: error });
    });
  }
});

test(`texts with few values are grouped, which gives the same file as sorting them (seed ${SEED})`, async (t) => {
  await using bench = await Bench.open();
  for (let number = 0; number < 8 * CASES; number += 1) {
    const column = randomColumn(new Random(SEED * 1_000_003 + number), { kind: 'varchar' });
    const sorted = await bench.build(column, `sorted-${number}`, t.signal);
    const grouped = await bench.build(column, `grouped-${number}`, t.signal, { isSampled: true });
    assert.deepEqual(await readFile(grouped), await readFile(sorted), `case ${number} of seed ${SEED}`);
  }
});

test('texts that together take more memory than there is are told from few, and get their index', async (t) => {
  await using bench = await Bench.open('128MB');
  const path = join(bench.directory, 'long.parquet');
  const rowCount = 30_000;
  await bench.write(`SELECT repeat(md5(i::VARCHAR), 200) AS c0 FROM range(${rowCount}) r(i)`, path);
  const column = { index: 0, type: { kind: 'varchar' } } as const;
  const order = {
    paths: [path],
    firstRows: [0],
    rowCount,
    samplePath: path,
    column,
    identity: IDENTITY,
    bytesMax: 1e9,
  };
  assert.ok((await bench.buildFrom({ ...order, destination: join(bench.directory, 'long.index') }, t.signal)) > 0);
});

test('texts of which one step fits into memory, and not two, get their index', async (t) => {
  await using bench = await Bench.open('192MB');
  const path = join(bench.directory, 'wide.parquet');
  const rowCount = 150_000;
  await bench.write(`SELECT i || repeat('😀', 250) AS c0 FROM range(${rowCount}) r(i)`, path);
  const column = { index: 0, type: { kind: 'varchar' } } as const;
  const order = {
    paths: [path],
    firstRows: [0],
    rowCount,
    samplePath: undefined,
    column,
    identity: IDENTITY,
    bytesMax: 1e9,
  };
  assert.ok((await bench.buildFrom({ ...order, destination: join(bench.directory, 'wide.index') }, t.signal)) > 0);
});

test(`a file with one changed byte is refused or gives what it gave before (seed ${SEED})`, async (t) => {
  await using bench = await Bench.open();
  const random = new Random(SEED);
  const column = randomColumn(random, { kind: 'varchar' });
  const path = await bench.build(column, 'damaged', t.signal);
  const bytes = await readFile(path);
  const wanted = await everything(path);
  let refused = 0;
  for (let i = 0; i < 60; i += 1) {
    const damaged = Buffer.from(bytes);
    const at = random.below(bytes.length);
    damaged[at] = (damaged[at] ?? 0) ^ (1 + random.below(255));
    await writeFile(path, random.chance(90) ? damaged : damaged.subarray(0, at));
    try {
      assert.deepEqual(await everything(path), wanted, `byte ${at} of ${bytes.length}`);
    } catch (error) {
      if (!(error instanceof IndexDamaged)) throw error;
      refused += 1;
    }
  }
  assert.equal(refused, 60);
});

test('texts and binaries longer than a key are found among those with the same beginning, and have no ranks', async (t) => {
  await using bench = await Bench.open();
  const long = 'é'.repeat(255);
  const texts = [`${long}b`, `${long}a2`, long, `${long}a1`, 'z', `${long}a`];
  const cells = texts.map((text) => ({ kind: 'text', text }) as const);
  const path = await bench.build({ type: { kind: 'varchar' }, cells }, 'long', t.signal);
  await using file = await IndexFile.open(path, IDENTITY, () => 0);
  assert.equal(file.hasRanks, false);
  const lookUp = file.lookUp();
  const find = async (text: string) => {
    const { bytes, isCut } = keyOf(text, { kind: 'text' }) as Key;
    const range = { from: await lookUp.countBelow(bytes, false), to: await lookUp.countBelow(bytes, true) };
    return { isCut, positions: [...(await lookUp.positions(range))] };
  };
  assert.deepEqual(await find(`${long}a1`), { isCut: true, positions: [1, 3, 5] });
  assert.deepEqual(await find(long), { isCut: false, positions: [2] });
  assert.deepEqual(await find('z'), { isCut: false, positions: [4] });
});

test('an index that would be too large is given up before the disk holds more of it than it may take', async (t) => {
  await using bench = await Bench.open();
  const cells = Array.from({ length: ROWS }, (_, i) => ({ kind: 'text', text: `value ${i * 7919}` }) as const);
  const bytesMax = 20_000;
  await assert.rejects(
    bench.build({ type: { kind: 'varchar' }, cells }, 'large', t.signal, { bytesMax }),
    NotBuildable,
  );
  assert.ok((await stat(join(bench.directory, 'large.index'))).size <= bytesMax);
});

test('a number halfway between two floats has no key, since DuckDB may take it for either', () => {
  const real = { kind: 'floating', bytes: 4 } as const;
  assert.equal(keyOf('16777217', real), undefined);
  assert.notEqual(keyOf('16777218', real), undefined);
  assert.notEqual(keyOf('0.1', real), undefined);
  assert.equal(keyOf('1e-45', real), undefined);
});

class Bench implements AsyncDisposable {
  readonly directory: string;
  readonly #duckDb: DuckDb;

  private constructor(directory: string, duckDb: DuckDb) {
    this.directory = directory;
    this.#duckDb = duckDb;
  }

  static async open(memoryLimit = '256MB'): Promise<Bench> {
    const directory = await mkdtemp(join(tmpdir(), 'qrs-indexes-'));
    const options = { threads: 2, memoryLimit, tempDirectory: directory, tempSizeMax: '1GB', sleep };
    return new Bench(directory, await DuckDb.open({ ...options, allowedDirectories: [directory] }));
  }

  /** Writes the rows of a SELECT as a Parquet file. */
  async write(rows: string, path: string): Promise<void> {
    const text = `COPY (${rows}) TO '${path}' (ROW_GROUP_SIZE 2048)`;
    await this.#duckDb.query({ text, values: [] }, new AbortController().signal);
  }

  async buildFrom(order: IndexBuild, signal: AbortSignal): Promise<number> {
    return await buildIndex(this.#duckDb, order, signal);
  }

  /** @param options with `isSampled` the first part stands for a sample of few values @returns the index's path */
  async build(
    { type, cells }: Column,
    name: string,
    signal: AbortSignal,
    { bytesMax = 1e9, isSampled = false } = {},
  ): Promise<string> {
    const [paths, firstRows]: [string[], number[]] = [[], []];
    for (let firstRow = 0; firstRow < cells.length; firstRow += PART_ROWS) {
      const path = join(this.directory, `${name}-${paths.length}.parquet`);
      const rows = cells.slice(firstRow, firstRow + PART_ROWS).map((cell) => [cell]);
      await this.#duckDb.query({ text: storeAs({ columns: [{ name: 'v', type }], rows }, path), values: [] }, signal);
      paths.push(path);
      firstRows.push(firstRow);
    }
    const destination = join(this.directory, `${name}.index`);
    const column = { index: 0, type };
    const samplePath = isSampled ? paths[0] : undefined;
    const bytes = await this.buildFrom(
      { paths, firstRows, rowCount: cells.length, samplePath, column, identity: IDENTITY, destination, bytesMax },
      signal,
    );
    assert.equal((await readFile(destination)).length, bytes);
    return destination;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#duckDb[Symbol.asyncDispose]();
    await rm(this.directory, { recursive: true });
  }
}

/** Some columns repeat their values often, others rarely. */
function randomColumn(random: Random, type: ColumnType): Column {
  const pool = Array.from({ length: random.pick([1, 5, 300, 5000]) }, () => randomCell(random, type));
  const nulls = random.pick([0, 0, 10, 95]);
  const rows = random.pick([1, 256, 257, ROWS]);
  return { type, cells: Array.from({ length: rows }, () => (random.chance(nulls) ? null : random.pick(pool))) };
}

/** @param others more values to look up, which need not be in the column */
async function checkIndex(path: string, { type, cells }: Column, others: readonly Cell[]): Promise<void> {
  await using file = await IndexFile.open(path, IDENTITY, () => 0);
  const { rowCount, valueCount } = file.table;
  const present = cells.flatMap((cell, position) => (cell === null ? [] : [{ cell, position }]));
  const sorted = present.sort((a, b) => compareCells(a.cell, b.cell) || a.position - b.position);
  const missing = cells.flatMap((cell, position) => (cell === null ? [position] : []));
  assert.deepEqual([rowCount, valueCount], [cells.length, sorted.length]);
  const lookUp = file.lookUp();
  const all = await lookUp.positions({ from: 0, to: valueCount });
  assert.deepEqual(
    [...all],
    sorted.map(({ position }) => position),
  );
  assert.deepEqual([...(await lookUp.nulls({ from: 0, to: rowCount - valueCount }))], missing);

  // For each value: how many are below it, and how many are at most it.
  const starts: number[] = [];
  for (const [i, { cell }] of sorted.entries()) {
    const before = sorted[i - 1];
    starts.push(before !== undefined && compareCells(before.cell, cell) === 0 ? (starts[i - 1] ?? 0) : i);
  }
  const ends = sorted.map((_, i) => starts.findIndex((start) => start > i));
  const form = keyFormOf(type);
  assert(form !== undefined);
  for (let i = 0; i < sorted.length; i += 97) {
    const key = keyOf(valueOfCell(sorted[i]?.cell as NonNullable<Cell>, type), form);
    if (key === undefined) continue;
    const end = ends[i] === -1 ? sorted.length : (ends[i] ?? 0);
    assert.equal(await lookUp.countBelow(key.bytes, false), starts[i]);
    assert.equal(await lookUp.countBelow(key.bytes, true), end);
    assert.deepEqual(await lookUp.equalTo(i), { from: starts[i], to: end });
  }

  for (const other of others) {
    const key: Key | undefined = other === null ? undefined : keyOf(valueOfCell(other, type), form);
    if (key === undefined || other === null) continue;
    const orders = sorted.map(({ cell }) => compareCells(cell, other));
    assert.equal(await lookUp.countBelow(key.bytes, false), orders.filter((order) => order < 0).length);
    assert.equal(await lookUp.countBelow(key.bytes, true), orders.filter((order) => order <= 0).length);
  }

  const rankAt = new Map(sorted.map(({ position }, i) => [position, starts[i]]));
  const some = Uint32Array.from(cells.keys()).filter((position) => position % 3 === 0 || position % 1000 < 7);
  assert.deepEqual(
    [...(await lookUp.ranks(some))],
    [...some].map((position) => rankAt.get(position) ?? NO_RANK),
  );
}

/** Everything that can be read from the index. */
async function everything(path: string): Promise<unknown> {
  await using file = await IndexFile.open(path, IDENTITY, () => 0);
  const { rowCount, valueCount, firstKeys } = file.table;
  const lookUp = file.lookUp();
  return {
    firstKeys: Buffer.from(firstKeys.bytes).toString('hex'),
    below: await lookUp.countBelow(Buffer.from('a'), false),
    positions: await lookUp.positions({ from: 0, to: valueCount }),
    nulls: await lookUp.nulls({ from: 0, to: rowCount - valueCount }),
    ranks: await lookUp.ranks(Uint32Array.from({ length: rowCount }, (_, position) => position)),
  };
}

/** The cell as a predicate's value. */
function valueOfCell(cell: NonNullable<Cell>, type: ColumnType): Value {
  switch (cell.kind) {
    case 'boolean':
      return cell.value;
    case 'exact':
      return cell.units;
    case 'float':
      return String(cell.value);
    case 'text':
    case 'uuid':
      return cell.text;
    case 'bytes':
      return cell.hex;
    case 'instant':
      if (type.kind === 'date') return cell.nanos / 86_400_000_000_000n;
      return type.kind === 'timestamp' && type.digits === 9 ? cell.nanos : cell.nanos / 1000n;
    case 'time':
      return cell.micros;
    default:
      throw new Error(`a ${cell.kind} has no key`);
  }
}
