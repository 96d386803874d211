/**
 * The law of row files: reading a row file gives what DuckDB makes of the part, to the byte: any rows, any columns in any
 * order, JSON and NDJSON, with the same cell bytes. A file that is damaged, anywhere, gives no wrong byte. A run is known by
 * its seed.
 */
import assert from 'node:assert/strict';
import { mkdtemp, open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { type ColumnType, parseColumnType } from '../../src/domain/column-type.ts';
import type { Column } from '../../src/domain/result-set.ts';
import { Turns } from '../../src/domain/turns.ts';
import type { DuckDb } from '../../src/duckdb/duckdb.ts';
import { compileFit, compileRange } from '../../src/results/compile/range.ts';
import { type ProjectedColumn, ROW_SEPARATOR } from '../../src/results/compile/row-encoding.ts';
import { NotBuildable } from '../../src/results/derived/build-queue.ts';
import { buildRowFile } from '../../src/results/derived/row-files/build-row-file.ts';
import { fitRows, readRange, readScattered } from '../../src/results/derived/row-files/read-rows.ts';
import { packBlock } from '../../src/results/derived/row-files/row-block.ts';
import { RowFile, type RowFileDeps } from '../../src/results/derived/row-files/row-file.ts';
import { blockCrc, RowFileDamaged } from '../../src/results/derived/row-files/row-file-format.ts';
import { RowNumbers } from '../../src/results/derived/row-files/row-numbers.ts';
import { rowProjection } from '../../src/results/derived/row-files/row-projection.ts';
import { type StoredBlock, unpackBlocks } from '../../src/results/derived/row-files/unpack-blocks.ts';
import { openFolderDuckDb } from './folder-duckdb.ts';
import { Random, randomResult, storeAs } from './random-results.ts';

const CASES = Number(process.env.TEST_CASES ?? 12);
const SEED = Number(process.env.TEST_SEED ?? 1);
const ASKED_OF_EACH = 12;
const signal = new AbortController().signal;
const deps: RowFileDeps = {
  turns: new Turns(),
  monotonic: () => 0,
};

let directory: string;
let duckDb: DuckDb;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'qrs-row-files-'));
  duckDb = await openFolderDuckDb(directory, 1);
});
after(async () => {
  await duckDb[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

interface Made {
  readonly columns: readonly Column[];
  readonly rowCount: number;
  readonly part: string;
  readonly path: string;
}

let made = 0;

/** The row file of a part that the SQL writes. */
async function make(
  columns: readonly Column[],
  rowCount: number,
  write: (path: string) => string,
  bytesMax = 1e9,
): Promise<Made> {
  made += 1;
  const [part, path] = [join(directory, `${made}.parquet`), join(directory, `${made}.rows`)];
  await duckDb.query({ text: write(part), values: [] }, signal);
  const order = { part, path, identity: 'test', columns, rowCount, cellBytes: 40 * rowCount, bytesMax };
  const bytes = await buildRowFile(duckDb, order, signal);
  assert.equal((await stat(path)).size, bytes);
  return { columns, rowCount, part, path };
}

async function makeRandom(random: Random): Promise<Made> {
  const result = randomResult(random, 1 + random.below(12), random.pick([1, 31, 32, 33, 500, 5000]));
  return await make(result.columns, result.rows.length, (path) => storeAs(result, path));
}

interface Asked {
  readonly columns: readonly ProjectedColumn[];
  readonly format: 'json' | 'ndjson';
  readonly from: number;
  readonly to: number;
}

function randomAsked(random: Random, { columns, rowCount }: Made): Asked {
  const all = columns.map((column, index) => ({ ...column, index }));
  const some = all.filter(() => random.chance(50)).sort(() => random.below(3) - 1);
  const from = random.below(rowCount);
  const length = random.pick([1, 2, 33, 1000, rowCount]);
  return {
    columns: random.chance(40) || some.length === 0 ? all : some,
    format: random.pick(['json', 'ndjson'] as const),
    from,
    to: Math.min(rowCount, from + length),
  };
}

async function byDuckDb({ part }: Made, { columns, format, from, to }: Asked) {
  const [row] = await duckDb.query(compileRange({ columns, format }, { path: part, from, to }, 'safe'), signal);
  return {
    text: Buffer.from(row?.[0] as Uint8Array).toString(),
    rowCount: Number(row?.[1]),
    cellBytes: Number(row?.[2]),
  };
}

async function byRowFile(file: RowFile, { columns, format, from, to }: Asked) {
  const projection = rowProjection(columns, file.about) ?? assert.fail('the file does not know its columns');
  const separator = ROW_SEPARATOR[format].charCodeAt(0);
  const texts: string[] = [];
  let [rowCount, cellBytes] = [0, 0];
  for await (const taken of readRange(file, { from, to }, projection, separator, signal)) {
    texts.push(taken.text.toString());
    rowCount += taken.rowCount;
    cellBytes += taken.cellBytes;
  }
  return { text: texts.join(ROW_SEPARATOR[format]), rowCount, cellBytes };
}

async function opened(path: string, t: TestContext): Promise<RowFile> {
  const file = await RowFile.open(path, deps);
  t.after(() => file.retire());
  return file;
}

async function holdsLaw(t: TestContext, random: Random, table: Made): Promise<void> {
  const file = await opened(table.path, t);
  for (let i = 0; i < ASKED_OF_EACH; i += 1) {
    const asked = randomAsked(random, table);
    assert.deepEqual(await byRowFile(file, asked), await byDuckDb(table, asked));
    await holdsFit(file, table, asked, random.below(2000));
  }
  const rows = [...new Set(Array.from({ length: 20 }, () => random.below(table.rowCount)))].sort((a, b) => a - b);
  const { columns } = randomAsked(random, table);
  const projection = rowProjection(columns, file.about) ?? assert.fail();
  for (const [place, { text, cellBytes }] of (await readScattered(file, rows, projection, signal)).entries()) {
    const row = rows[place] ?? 0;
    const expected = await byDuckDb(table, { columns, format: 'json', from: row, to: row + 1 });
    assert.deepEqual({ text: Buffer.from(text).toString(), rowCount: 1, cellBytes }, expected);
    // Small buffers share one of a few kilobytes; nothing of the block is kept.
    assert(
      text.buffer.byteLength <= Math.max(Buffer.allocUnsafe(1).buffer.byteLength, text.byteLength),
      `${text.buffer.byteLength} bytes kept`,
    );
  }
}

/** How many rows fit into so many cell bytes, as where a datapoint limit cuts a page. */
async function holdsFit(file: RowFile, { part }: Made, { columns, from, to }: Asked, max: number): Promise<void> {
  const [row] = await duckDb.query(compileFit(columns, { path: part, from, to }, max), signal);
  const projection = rowProjection(columns, file.about) ?? assert.fail();
  const { rowCount } = await fitRows(file, { from, to }, projection, max, signal);
  assert.equal(rowCount, Number(row?.[0]));
}

test('a row file gives the bytes that DuckDB makes of the part', async (t) => {
  for (let seed = SEED; seed < SEED + CASES; seed += 1) {
    t.diagnostic(`seed ${seed}`);
    const random = new Random(seed);
    await holdsLaw(t, random, await makeRandom(random));
  }
});

const NESTED = [
  ['map(varchar,double)', `CASE WHEN i % 5 > 0 THEN MAP {'k"' || i: i / 3.0::DOUBLE, '}': 'NaN'::DOUBLE} END`],
  [
    'row(a varchar,b array(bigint),c row(d varbinary))',
    `{'f0': '],"}' || i, 'f1': [i, NULL], 'f2': {'f0': 'ab'::BLOB}}`,
  ],
  ['array(array(varchar))', `CASE WHEN i % 3 > 0 THEN [['a\\', '"', NULL], [], NULL] END`],
  ['map(date,array(real))', `MAP {DATE '2024-01-01' + (i % 9)::INTEGER: ['inf'::FLOAT, 0.1::FLOAT]}`],
  ['varchar', `CASE WHEN i % 2 = 0 THEN chr((i % 128)::INTEGER) || '\\' ELSE repeat('😀"', i % 7) END`],
  ['double', `CASE i % 4 WHEN 0 THEN 'NaN'::DOUBLE WHEN 1 THEN NULL WHEN 2 THEN '-inf'::DOUBLE ELSE i / 7.0 END`],
] as const satisfies readonly (readonly [type: string, sql: string])[];

test('so it does for maps, rows and lists inside lists, and for texts that look like JSON', async (t) => {
  const columns = NESTED.map(([type], index) => ({ name: `"}${index}`, type: parseColumnType(type) as ColumnType }));
  const values = NESTED.map(([, sql], index) => `${sql} AS c${index}`).join(', ');
  const rows = 3000;
  const write = (path: string) =>
    `COPY (SELECT ${values} FROM range(${rows}) r(i)) TO '${path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)`;
  await holdsLaw(t, new Random(SEED), await make(columns, rows, write));
});

test('with very many columns whole rows are read, and no columns are cut out', async (t) => {
  const count = 250;
  const columns = Array.from({ length: count }, (_, index) => ({ name: `n${index}`, type: parseColumnType('bigint') }));
  const values = columns.map((_, index) => `CASE WHEN i % 3 > 0 THEN i + ${index} END AS c${index}`).join(', ');
  const table = await make(
    columns,
    100,
    (path) => `COPY (SELECT ${values} FROM range(100) r(i)) TO '${path}' (FORMAT parquet)`,
  );
  const file = await opened(table.path, t);
  const all = columns.map((column, index) => ({ ...column, index }));
  const asked = { columns: all, format: 'json', from: 10, to: 90 } as const;
  assert.deepEqual(await byRowFile(file, asked), await byDuckDb(table, asked));
  assert.equal(rowProjection(all.slice(1), file.about), undefined);
});

test('a changed byte anywhere, or a cut file, is noticed, or gives the same rows: a few bits of a zstd frame mean nothing', async (t) => {
  const random = new Random(SEED);
  const table = await makeRandom(random);
  const whole = await readFile(table.path);
  const asked = { ...randomAsked(random, table), from: 0, to: table.rowCount };
  const expected = await byDuckDb(table, asked);
  let noticed = 0;
  for (let i = 0; i < 200; i += 1) {
    const path = join(directory, 'damaged.rows');
    await writeFile(path, whole);
    const at = i < 30 ? whole.length - 1 - i : random.below(whole.length);
    if (random.chance(20)) await truncate(path, at);
    else {
      await using handle = await open(path, 'r+');
      await handle.write(Buffer.of((whole[at] ?? 0) ^ (1 + random.below(255))), 0, 1, at);
    }
    const read = async () => {
      const file = await RowFile.open(path, deps);
      try {
        return await byRowFile(file, asked);
      } finally {
        file.retire();
      }
    };
    try {
      assert.deepEqual(await read(), expected, `byte ${at} of ${whole.length}`);
    } catch (error) {
      if (!(error instanceof RowFileDamaged)) throw error;
      noticed += 1;
    }
  }
  assert.ok(noticed >= 190, `${noticed} of 200 were noticed`);
  assert.deepEqual(await byRowFile(await opened(table.path, t), asked), expected);
});

/** Blocks of one row as they are read from a file. */
function stored(texts: readonly string[]): readonly StoredBlock[] {
  return texts.map((text, number) => {
    const bytes = Buffer.from(text);
    const packed = packBlock([[bytes.length - 1]], 0, 1, bytes, number % 2 === 0 ? 'quick' : 'small');
    const numbers = new RowNumbers(packed.numbers, 1, 1);
    return {
      number,
      rows: 1,
      numbers,
      frame: packed.frame,
      bytes: bytes.length,
      crc: blockCrc(number, numbers.bytes, packed.frame),
    };
  });
}

test('blocks of any texts, in any order, give the texts', (t) => {
  for (let seed = SEED; seed < SEED + 30; seed += 1) {
    t.diagnostic(`seed ${seed}`);
    const random = new Random(seed);
    const piece = () =>
      random.pick([
        () => random.pick(['0', '1', ',', '{"a":']).repeat(1 + random.below(5000)),
        () => String(random.below(2 ** 31)),
        () => JSON.stringify({ id: random.below(1000), name: `user ${random.below(9)}` }).repeat(1 + random.below(9)),
      ])();
    const texts = Array.from({ length: 1 + random.below(24) }, () =>
      Array.from({ length: 1 + random.below(6) }, piece)
        .join('')
        .slice(0, 20_000),
    );
    const blocks = stored(texts);
    assert.equal(unpackBlocks(blocks).toString(), texts.join(''));
    const order = texts.map((_, place) => place).sort(() => random.below(3) - 1);
    assert.equal(
      unpackBlocks(order.map((place) => blocks[place] ?? assert.fail('no block'))).toString(),
      order.map((place) => texts[place]).join(''),
    );
  }
});

test('a block in the place of another, and whole numbers or a whole text of another block, are noticed', () => {
  const [one, other] = stored(['{"n":1},', '{"n":2},']);
  assert.ok(one !== undefined && other !== undefined);
  const { numbers } = stored(['{"n":10},'])[0] ?? assert.fail();
  assert.equal(unpackBlocks([one]).toString(), '{"n":1},');
  for (const damaged of [
    { ...other, number: one.number },
    { ...one, frame: other.frame },
    { ...one, numbers },
  ]) {
    assert.throws(() => unpackBlocks([damaged]), RowFileDamaged);
  }
});

test('rows too wide to unpack between requests, and text that takes too much room, have no row file', async () => {
  const columns = [{ name: 'text', type: parseColumnType('varchar') }];
  const wide = (path: string) => `COPY (SELECT repeat('x', 3000000) AS c0) TO '${path}' (FORMAT parquet)`;
  await assert.rejects(make(columns, 1, wide), NotBuildable);
  const part = join(directory, 'long.parquet');
  await duckDb.query(
    { text: `COPY (SELECT hash(i)::VARCHAR AS c0 FROM range(9000) r(i)) TO '${part}' (FORMAT parquet)`, values: [] },
    signal,
  );
  const order = { part, path: join(directory, 'long.rows'), identity: '', columns, rowCount: 9000, cellBytes: 9000 };
  await assert.rejects(buildRowFile(duckDb, { ...order, bytesMax: 1000 }, signal), NotBuildable);
});

test('a file of hashes keeps below its bound, since as many blocks are packed small as need be', async (t) => {
  const columns = [{ name: 'hash', type: parseColumnType('varchar') }];
  const hashes = (path: string) =>
    `COPY (SELECT sha256(i::VARCHAR) AS c0 FROM range(20000) r(i)) TO '${path}' (FORMAT parquet)`;
  const withRoom = await make(columns, 20_000, hashes);
  const { size: quick } = await stat(withRoom.path);
  for (const share of [0.9, 0.8, 0.7]) {
    const table = await make(columns, 20_000, hashes, (share * quick) / 0.95);
    const { size } = await stat(table.path);
    assert.ok(size > 0.98 * share * quick && size < 1.02 * share * quick, `${size} of ${quick} for ${share}`);
    const all = columns.map((column, index) => ({ ...column, index }));
    const asked = { columns: all, format: 'json', from: 0, to: 20_000 } as const;
    assert.deepEqual(await byRowFile(await opened(table.path, t), asked), await byDuckDb(table, asked));
  }
});

test('rows that take more room than those before them have a row file as if all had been packed small from the beginning', async (t) => {
  const columns = [{ name: 'text', type: parseColumnType('varchar') }];
  const digits = `hash(i)::VARCHAR || hash(i + 1)::VARCHAR || hash(i + 2)::VARCHAR`;
  const letters = `to_base64(unhex(sha256(i::VARCHAR))) || left(to_base64(unhex(md5(i::VARCHAR))), 16)`;
  const skewed = (path: string) =>
    `COPY (SELECT CASE WHEN i < 10000 THEN ${digits} ELSE ${letters} END AS c0 FROM range(20000) r(i)) TO '${path}' (FORMAT parquet)`;
  const { size: quick } = await stat((await make(columns, 20_000, skewed)).path);
  const bytesMax = Math.floor(0.8 * quick);
  const table = await make(columns, 20_000, skewed, bytesMax);
  const { size } = await stat(table.path);
  assert.ok(size < bytesMax, `${size} of ${bytesMax}, ${quick} where there is room`);
  const all = columns.map((column, index) => ({ ...column, index }));
  const asked = { columns: all, format: 'json', from: 0, to: 20_000 } as const;
  assert.deepEqual(await byRowFile(await opened(table.path, t), asked), await byDuckDb(table, asked));
});

test('a file that is removed while it is read can be read to its end', async (t) => {
  const table = await makeRandom(new Random(SEED + 1));
  const file = await opened(table.path, t);
  using _ = file.reading();
  await rm(table.path);
  file.retire();
  const asked = { ...randomAsked(new Random(SEED), table), from: 0, to: table.rowCount };
  assert.deepEqual(await byRowFile(file, asked), await byDuckDb(table, asked));
});

test('of long reads that begin together one goes on in each round of the event loop; small ones go on at once', async (t) => {
  const columns = [{ name: 'a', type: { kind: 'varchar' } }] as const;
  const table = await make(
    columns,
    2000,
    (path) => `COPY (SELECT repeat('x', 200) AS c0 FROM range(2000)) TO '${path}'`,
  );
  const file = await opened(table.path, t);
  const mostInARound = async (rows: number): Promise<number> => {
    const taken: number[] = [];
    let round = 0;
    let isOver = false;
    const count = () => {
      round += 1;
      if (!isOver) setImmediate(count);
    };
    count();
    const read = async () => {
      const take = () => taken.push(round);
      for await (const _ of file.read(0, rows, take, signal));
    };
    await Promise.all(Array.from({ length: 20 }, read));
    isOver = true;
    return Math.max(...Object.values(Object.groupBy(taken, String)).map((each) => each?.length ?? 0));
  };
  assert.equal(await mostInARound(100), 20);
  assert.ok((await mostInARound(1000)) <= 2);
});
