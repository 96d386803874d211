/** Row files when something fails: nothing half-made is ever read, no request waits, and the build is tried again later. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseColumnType } from '../../src/domain/column-type.ts';
import { type ResultSet, ROW_GROUP_ROWS } from '../../src/domain/result-set.ts';
import type { Sleep } from '../../src/domain/time.ts';
import { Turns } from '../../src/domain/turns.ts';
import { NotBuildable } from '../../src/results/derived/build-queue.ts';
import { buildRowFile, type RowFileOrder } from '../../src/results/derived/row-files/build-row-file.ts';
import { BuilderProcess } from '../../src/results/derived/row-files/builder-process.ts';
import { OpenRowFiles } from '../../src/results/derived/row-files/open-row-files.ts';
import { readScattered } from '../../src/results/derived/row-files/read-rows.ts';
import { RowFile, type RowFileDeps } from '../../src/results/derived/row-files/row-file.ts';
import { RowFileDamaged } from '../../src/results/derived/row-files/row-file-format.ts';
import type { RowOrigin } from '../../src/results/derived/row-files/row-origin.ts';
import { rowProjection } from '../../src/results/derived/row-files/row-projection.ts';
import { type RowFileBuilder, wantedRowFiles } from '../../src/results/derived/row-files/wanted-row-files.ts';
import { sleep } from '../real-time.ts';
import { openFolderDuckDb } from './folder-duckdb.ts';

const signal = new AbortController().signal;
const deps: RowFileDeps = {
  turns: new Turns(),
  monotonic: () => 0,
};
const columns = [{ name: 'n', type: parseColumnType('bigint') }];
const PROGRAM = join(import.meta.dirname, '../../src/row-file-builder.ts');

async function folder(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'qrs-row-faults-'));
  t.after(async () => await rm(directory, { recursive: true, force: true }));
  return directory;
}

async function orderOf(directory: string, rowCount: number): Promise<RowFileOrder> {
  await using duckDb = await openFolderDuckDb(directory, 1);
  const part = join(directory, 'part.parquet');
  const text = `COPY (SELECT i AS c0 FROM range(${rowCount}) r(i)) TO '${part}' (FORMAT parquet)`;
  await duckDb.query({ text, values: [] }, signal);
  const path = join(directory, 'made.rows');
  return { part, path, identity: 'one', columns, rowCount, cellBytes: 8 * rowCount, bytesMax: 1e9 };
}

function builderIn(directory: string, memoryLimit: string, sleepOf: Sleep = sleep): BuilderProcess {
  return new BuilderProcess({
    program: PROGRAM,
    flags: ['--disable-warning=ExperimentalWarning'],
    sleep: sleepOf,
    duckDb: {
      threads: 1,
      memoryLimit,
      tempDirectory: join(directory, 'tmp'),
      tempSizeMax: '1GB',
      allowedDirectories: [directory],
    },
  });
}

test('a builder that is killed has built nothing; the next order gets a new one', async (t) => {
  const directory = await folder(t);
  const order = await orderOf(directory, 300_000);
  await using builder = builderIn(directory, '128MB');
  const building = builder.buildRowFile(order, signal);
  while (builder.pid === undefined) await new Promise(setImmediate);
  process.kill(builder.pid, 'SIGKILL');
  await assert.rejects(building, /the process that builds derived files ended \(SIGKILL\)/);
  assert.ok((await builder.buildRowFile({ ...order, path: join(directory, 'again.rows') }, signal)) > 0);
});

test('a builder that has had nothing to do for a minute ends; one that has, goes on', async (t) => {
  const directory = await folder(t);
  const order = await orderOf(directory, 1000);
  let [asleep, millis] = [Promise.withResolvers<void>(), 0];
  await using builder = builderIn(directory, '128MB', async (asked) => {
    millis = asked;
    asleep = Promise.withResolvers<void>();
    await asleep.promise;
  });
  const build = async (name: string) => await builder.buildRowFile({ ...order, path: join(directory, name) }, signal);
  assert.ok((await build('one.rows')) > 0);
  const { pid } = builder;
  builder.rest();
  assert.equal(millis, 60_000);
  const building = build('two.rows');
  // The minute is over just after something was to be built again.
  await new Promise(setImmediate);
  asleep.resolve();
  assert.ok((await building) > 0);
  assert.equal(builder.pid, pid);
  builder.rest();
  asleep.resolve();
  await new Promise(setImmediate);
  assert.equal(builder.pid, undefined);
  assert.ok((await build('three.rows')) > 0);
});

test('a part whose rows do not fit into the memory of the builder is refused, and not tried again and again', async (t) => {
  const directory = await folder(t);
  const part = join(directory, 'wide.parquet');
  {
    await using duckDb = await openFolderDuckDb(directory, 1);
    const text = `COPY (SELECT repeat(chr((97 + i)::INTEGER), 3000000) AS c0 FROM range(20) r(i)) TO '${part}' (FORMAT parquet)`;
    await duckDb.query({ text, values: [] }, signal);
  }
  await using builder = builderIn(directory, '64MB');
  const columns = [{ name: 't', type: parseColumnType('varchar') }];
  const sizes = { rowCount: 20, cellBytes: 60_000_000, bytesMax: 1e9 };
  const order = { part, path: join(directory, 'wide.rows'), identity: 'one', columns, ...sizes };
  await assert.rejects(builder.buildRowFile(order, signal), NotBuildable);
});

test('a file that cannot be built leaves nothing; a result that takes more than the bound is not begun', async (t) => {
  const directory = await folder(t);
  const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  let begun = 0;
  const builder: RowFileBuilder = {
    buildRowFile: async ({ path }) => {
      begun += 1;
      await writeFile(path, 'half of it');
      throw full;
    },
  };
  const open = new OpenRowFiles(() => 0, deps, 2);
  const [step] = wantedRowFiles(originIn(directory), { open, builder, bytesMax: 100 }).steps();
  await assert.rejects(step?.build(signal) ?? assert.fail('nothing is built'), full);
  assert.deepEqual(await readdir(directory), []);
  const [tooLarge] = wantedRowFiles(originIn(directory), { open, builder, bytesMax: 99 }).steps();
  await assert.rejects(tooLarge?.build(signal) ?? assert.fail('nothing is built'), NotBuildable);
  assert.equal(begun, 1);
});

test('a file of a part that was damaged while it was read is not kept', async (t) => {
  const directory = await folder(t);
  const builder: RowFileBuilder = {
    buildRowFile: async ({ path }) => {
      await writeFile(path, 'rows that were never stored');
      return 27;
    },
  };
  const damaged = new Error('the part is damaged');
  const file = {
    path: '',
    requireIntact: async () => await Promise.reject(damaged),
    [Symbol.asyncDispose]: async () => undefined,
  };
  const origin = { ...originIn(directory), open: async () => file };
  const building = { open: new OpenRowFiles(() => 0, deps, 2), builder, bytesMax: 100 };
  const [step] = wantedRowFiles(origin, building).steps();
  await assert.rejects(step?.build(signal) ?? assert.fail('nothing is built'), damaged);
  assert.deepEqual(await readdir(directory), []);
});

function originIn(directory: string): RowOrigin {
  const part = { key: 'part', firstRow: 0, rowCount: 1, cellBytes: 8, rowBytesMax: 8, objectBytes: 100, sha256: '' };
  const resultSet: ResultSet = { columns, rowCount: 1, cellBytes: 8, truncated: false, parts: [part] };
  return {
    id: 'one',
    executionId: 'one',
    resultSet,
    fileOf: () => ({ path: join(directory, 'there.rows'), identity: 'one' }),
    hold: () => ({ [Symbol.dispose]: () => undefined }),
    open: async () => ({ path: '', [Symbol.asyncDispose]: async () => undefined }),
    isMadeElsewhere: async () => false,
    stagingPath: () => join(directory, 'staged'),
    publish: async () => assert.fail('nothing is published'),
    remove: async () => undefined,
    touch: async () => undefined,
  };
}

test('a file forgotten while it is being opened is closed, and whoever waits for it goes without it', async (t) => {
  const directory = await folder(t);
  const order = await orderOf(directory, 100);
  await using duckDb = await openFolderDuckDb(directory, 1);
  await buildRowFile(duckDb, order, signal);
  const open = new OpenRowFiles(() => 0, deps, 2);
  t.after(() => open.closeAll());
  const first = open.find(order.path, 'one');
  open.forget(order.path);
  assert.equal((await first)?.reading(), undefined);
  const second = open.find(order.path, 'one');
  open.forget(order.path);
  const third = open.find(order.path, 'one');
  assert.equal((await second)?.reading(), undefined);
  using reading = (await third)?.reading();
  assert.notEqual(reading, undefined);
});

test('wide rows of which one range fits into memory, and not two, get their row file', async (t) => {
  const directory = await folder(t);
  const order = await wideOrder(directory, { rowCount: 700, hashes: 3200, rowBytes: 102_400 });
  await using builder = builderIn(directory, '192MB');
  assert.ok((await builder.buildRowFile(order, signal)) > 0);
});

test('rows of which one row group fits into memory, and not two, get it too where the other rows of the part are small', async (t) => {
  const directory = await folder(t);
  const order = await wideOrder(directory, { rowCount: 3 * ROW_GROUP_ROWS, hashes: 48, rowBytes: 80 });
  await using builder = builderIn(directory, '192MB');
  assert.ok((await builder.buildRowFile(order, signal)) > 0);
  const file = await RowFile.open(order.path, deps);
  t.after(() => file.retire());
  const projection = rowProjection([{ name: 't', type: parseColumnType('varchar'), index: 0 }], file.about);
  const rows = [0, ROW_GROUP_ROWS - 1, ROW_GROUP_ROWS, 2 * ROW_GROUP_ROWS, order.rowCount - 1];
  const read = await readScattered(file, rows, projection ?? assert.fail(), signal);
  const hash = (row: number) => createHash('md5').update(String(row)).digest('hex');
  assert.deepEqual(
    read.map(({ text }) => JSON.parse(Buffer.from(text).toString())),
    rows.map((row) => ({ t: hash(row).repeat(48) })),
  );
});

/** For a part of texts, each a hash so many times. @param rowBytes what the order says of a row on average */
async function wideOrder(
  directory: string,
  { rowCount, hashes, rowBytes }: { readonly rowCount: number; readonly hashes: number; readonly rowBytes: number },
): Promise<RowFileOrder> {
  const part = join(directory, 'part.parquet');
  await using duckDb = await openFolderDuckDb(directory, 1, '1GB');
  const texts = `SELECT repeat(md5(i::VARCHAR), ${hashes}) AS c0 FROM range(${rowCount}) r(i)`;
  const text = `COPY (${texts}) TO '${part}' (COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_ROWS})`;
  await duckDb.query({ text, values: [] }, signal);
  const wide = [{ name: 't', type: parseColumnType('varchar') }];
  const path = join(directory, 'made.rows');
  return { part, path, identity: 'one', columns: wide, rowCount, cellBytes: rowCount * rowBytes, bytesMax: 1e9 };
}

test('a file that was made from something else is not read', async (t) => {
  const directory = await folder(t);
  const order = await orderOf(directory, 100);
  await using duckDb = await openFolderDuckDb(directory, 1);
  await buildRowFile(duckDb, order, signal);
  const open = new OpenRowFiles(() => 0, deps, 2);
  await assert.rejects(open.find(order.path, 'another'), RowFileDamaged);
  const file = await open.find(order.path, 'one');
  assert.equal(file?.about.rowCount, 100);
  // Retired while it is being read, it stays open; after that nobody begins to read it.
  const reading = file.reading();
  open.forget(order.path);
  using again = file.reading();
  assert.notEqual(again, undefined);
  reading?.[Symbol.dispose]();
  again?.[Symbol.dispose]();
  assert.equal(file.reading(), undefined);
});

test('a file that was missing is looked for again after a while, and after the clock was set back', async (t) => {
  const directory = await folder(t);
  const order = await orderOf(directory, 100);
  let now = 10_000_000;
  const open = new OpenRowFiles(() => now, deps, 2);
  t.after(() => open.closeAll());
  assert.equal(await open.find(order.path, 'one'), undefined);
  await using duckDb = await openFolderDuckDb(directory, 1);
  await buildRowFile(duckDb, order, signal);
  now += 9000;
  assert.equal(await open.find(order.path, 'one'), undefined);
  now -= 3_600_000;
  assert.equal((await open.find(order.path, 'one'))?.about.rowCount, 100);
});
