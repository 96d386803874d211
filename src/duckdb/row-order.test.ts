import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sleep } from '../../test/real-time.ts';
import { DuckDb } from './duckdb.ts';
import { inStoredOrder, planOf, requireStoredOrder, rowOrderOf } from './row-order.ts';
import type { Statement } from './statement.ts';

const NEVER = new AbortController().signal;

let root: string;
/** As the service opens them: one thread for publishing, several for searches and views. */
const duckDbs: DuckDb[] = [];

before(async () => {
  root = await mkdtemp(join(tmpdir(), 'qrs-order-'));
  for (const threads of [1, 2, 4]) {
    duckDbs.push(
      await DuckDb.open({
        threads,
        memoryLimit: '256MB',
        tempDirectory: join(root, 'tmp'),
        tempSizeMax: '1GB',
        sleep,
        allowedDirectories: [root],
      }),
    );
  }
  const rows = `SELECT i AS c0, (i * 7919) % 1000 AS c1, 'n' || i AS c2 FROM range(50000) r(i)`;
  for (const part of ['0', '1']) {
    const text = `COPY (${rows}) TO '${root}/${part}.parquet' (FORMAT parquet, ROW_GROUP_SIZE 2048)`;
    await duckDbs[0]?.query({ text, values: [] }, NEVER);
  }
  await writeFile(join(root, 'file.csv'), 'n\n1\n');
  await writeFile(join(root, 'file.ndjson'), '{"n":1}\n');
});

after(async () => {
  for (const duckDb of duckDbs) await duckDb[Symbol.asyncDispose]();
  await rm(root, { recursive: true });
});

const PARTS = () => `read_parquet(['${root}/0.parquet', '${root}/1.parquet'], file_row_number = true)`;
const statement = (text: string): Statement => ({ text, values: [] });
const LIST = 'c1 IN (3, 8, 21, 34, 55, 89, 144, 233)';

/** What the read path does without asking for an order. If DuckDB no longer kept one of these, each page would cost a sort. */
const KEPT = [
  ['all rows of two parts', () => `COPY (SELECT c0 FROM ${PARTS()}) TO '${root}/out'`],
  ['a filter', () => `COPY (SELECT c0 FROM ${PARTS()} WHERE c1 > 5 AND contains(c2, '7')) TO '${root}/out'`],
  ['a short list', () => `COPY (SELECT c0 FROM ${PARTS()} WHERE c1 IN (3, 8, 21)) TO '${root}/out'`],
  ['a range of rows', () => `COPY (SELECT c0 FROM ${PARTS()} WHERE file_row_number < 9) TO '${root}/out'`],
  ['a first page', () => `SELECT c0 FROM ${PARTS()} WHERE c1 > 5 LIMIT 50 + 1 OFFSET 0`],
  ['a long first page', () => `SELECT c0 FROM ${PARTS()} WHERE c1 > 5 LIMIT 25000 + 1 OFFSET 0`],
  [
    'CSV',
    () => `COPY (SELECT * FROM read_csv('${root}/file.csv')) TO '${root}/out' (FORMAT parquet, ROW_GROUPS_PER_FILE 1)`,
  ],
  [
    'NDJSON',
    () =>
      `COPY (SELECT * FROM read_json_objects('${root}/file.ndjson')) TO '${root}/out' (FORMAT parquet, ROW_GROUPS_PER_FILE 1)`,
  ],
] as const;

for (const [what, text] of KEPT) {
  test(`DuckDB's plan keeps the order of rows: ${what}`, async () => {
    for (const duckDb of duckDbs) assert.equal(await rowOrderOf(duckDb, statement(text()), NEVER), 'kept');
  });
}

const LOST = [
  ['a list of eight values', () => `COPY (SELECT c0 FROM ${PARTS()} WHERE ${LIST}) TO '${root}/out'`],
  ['a first page of a list', () => `SELECT c0 FROM ${PARTS()} WHERE ${LIST} LIMIT 50`],
  ['a list beside another condition', () => `SELECT c0 FROM ${PARTS()} WHERE c0 = 1 OR NOT ${LIST} LIMIT 50`],
  ['a semi join', () => `SELECT c0 FROM ${PARTS()} WHERE c0 IN (SELECT unnest([1, 2, 3])) LIMIT 50`],
  [
    'two parts by UNION ALL',
    () => `COPY (FROM '${root}/0.parquet' UNION ALL FROM '${root}/1.parquet') TO '${root}/out'`,
  ],
  ['distinct rows', () => `SELECT DISTINCT c1 FROM ${PARTS()}`],
] as const;

for (const [what, text] of LOST) {
  test(`DuckDB's plan does not keep the order of rows: ${what}`, async () => {
    for (const duckDb of duckDbs) {
      assert.equal(await rowOrderOf(duckDb, statement(text()), NEVER), 'asked');
      await assert.rejects(requireStoredOrder(duckDb, statement(text()), text(), NEVER), /rows lose their order/);
    }
  });
}

test('a shape whose plan keeps the order is shown to the planner once, one whose plan does not each time', async () => {
  const [duckDb] = duckDbs;
  assert(duckDb !== undefined);
  let shown = 0;
  const counting: DuckDb = Object.assign(Object.create(duckDb), {
    query: async (...[asked, during]: Parameters<DuckDb['query']>) => {
      shown += 1;
      return await duckDb.query(asked, during);
    },
  });
  const copy = (name: string) => statement(`COPY (SELECT c0 + 1 FROM ${PARTS()}) TO '${root}/${name}'`);
  await requireStoredOrder(counting, copy('one'), 'c0 + 1', NEVER);
  await requireStoredOrder(counting, copy('other'), 'c0 + 1', NEVER);
  assert.equal(shown, 1);
  await requireStoredOrder(counting, copy('one'), `c0 + 1 -- ${'x'.repeat(20_000)}`, NEVER);
  await requireStoredOrder(counting, copy('one'), `c0 + 1 -- ${'x'.repeat(20_000)}`, NEVER);
  assert.equal(shown, 3, 'a long one is not kept');
  const lost = statement(`SELECT DISTINCT c1 FROM ${PARTS()}`);
  for (const seen of [5, 7]) {
    await assert.rejects(requireStoredOrder(counting, lost, 'distinct', NEVER), /rows lose their order/);
    assert.equal(shown, seen);
  }
});

test('a statement asks for an order only where its plan does not keep it', async () => {
  const [duckDb] = duckDbs;
  assert(duckDb !== undefined);
  const compile = (where: string) => (order: string) =>
    statement(`SELECT c0 FROM ${PARTS()} WHERE ${where} -- ${order}`);
  assert.match((await inStoredOrder(duckDb, compile('c1 > 5'), NEVER)).text, /kept$/);
  assert.match((await inStoredOrder(duckDb, compile(LIST), NEVER)).text, /asked$/);
});

test('a copy from a view whose SQL ends in ORDER BY sorts last, as the engine of scheduled queries needs', async () => {
  for (const duckDb of duckDbs) {
    await duckDb.query(
      statement(`CREATE OR REPLACE VIEW result AS SELECT * FROM ${PARTS()} WHERE c1 > 5 ORDER BY c2`),
      NEVER,
    );
    const [copy, ...below] = (await planOf(duckDb, statement(`COPY (FROM result) TO '${root}/out'`), NEVER)) ?? [];
    assert.match(copy ?? '', /COPY_TO_FILE/);
    assert.equal(below.filter((name) => name !== 'PROJECTION')[0], 'ORDER_BY');
  }
});
