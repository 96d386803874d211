/** Objects of many keys with their members in any order: reading them by sorting gives what was written. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openFolderDuckDb } from '../../../../test/feature/folder-duckdb.ts';
import { Random } from '../../../../test/feature/random-results.ts';
import { UNLIMITED_STAGING } from '../../staging-budget.ts';
import { KEYS_UNKNOWN, relationOf } from './json-relation.ts';
import { openJson } from './json-source.ts';

const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const signal = new AbortController().signal;
/** Keys that are nearly equal: in UTF-16 and UTF-8 order, ignoring case, as the beginning of another, as a path. */
const ODD = ['a', 'a\u0001', 'A', 'aa', '', ' ', 'ﬀ', '😀', '/', '~1', '$', '*', '"', "'", '\\', 'é', 'e\u0301', '0'];
const KEYS = [...ODD, ...Array.from({ length: 1000 }, (_, index) => `k${index}`)];
const OBJECTS = "read_json_objects($1, format = 'newline_delimited')";

async function inFolder(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'qrs-json-relation-'));
  const duckDb = await openFolderDuckDb(folder, 1);
  t.after(async () => {
    await duckDb[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  const path = join(folder, 'rows.ndjson');
  const read = async (lines: readonly string[], keys: readonly string[]) => {
    await writeFile(path, lines.map((line) => `${line}\n`).join(''));
    const { relation } = relationOf(OBJECTS, keys, []);
    const text = `SELECT to_json([${keys.map((_, index) => `s${index}`).join(', ')}])::VARCHAR FROM ${relation}`;
    const rows = await duckDb.query({ text, values: [path] }, signal);
    return rows.map(([texts]) => JSON.parse(String(texts)) as (string | null)[]);
  };
  return { duckDb, path, read };
}

test(`members in any order, with some missing, get to their keys (seed ${SEED})`, async (t) => {
  const { read } = await inFolder(t);
  const random = new Random(SEED);
  const values = [1, -2.5, 'x', '"', 'null', true, null, { b: [1, null] }, [], '\ufdd1'];
  const rows = Array.from({ length: 12 }, (_, row) => {
    const keys = row === 0 ? KEYS : KEYS.filter(() => random.chance(row % 3 === 0 ? 100 : 60));
    const members = keys.map((key) => [key, values[random.below(values.length)]] as const);
    return row < 2
      ? members
      : members
          .map((member) => ({ member, at: random.below(1e9) }))
          .sort((a, b) => a.at - b.at)
          .map(({ member }) => member);
  });
  // Written member by member: a JavaScript object would move "0" to its front.
  const lines = rows.map(
    (members) => `{${members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`,
  );
  const expected = rows.map((members) => {
    const found = new Map(members);
    return KEYS.map((key) => ((found.get(key) ?? null) === null ? null : JSON.stringify(found.get(key))));
  });
  assert.deepEqual(await read(lines, KEYS), expected);
});

for (const [what, line] of [
  ['a key that has no column', `{"k1":1,"between k1 and k2":2}`],
  ['a key that has no column, without a value', `{"k1":1,"zzz":null}`],
  ['a key that is there twice', `{"k1":1,"k0":2,"k1":1}`],
] as const) {
  test(`${what} ends the statement`, async (t) => {
    const { read } = await inFolder(t);
    await assert.rejects(read([line], KEYS), (error: Error) => error.message.includes(KEYS_UNKNOWN));
  });
}

test('columns of nested values take no statements of their own', async (t) => {
  const { duckDb, path } = await inFolder(t);
  const statementsOf = async (columns: number) => {
    const object = Object.fromEntries(
      Array.from({ length: columns }, (_, at) => [`k${at}`, at % 2 === 0 ? { a: 1 } : [at]]),
    );
    await writeFile(path, `${JSON.stringify(object)}\n`);
    let count = 0;
    const counting = Object.assign(Object.create(duckDb), {
      query: async (...[statement, during]: Parameters<typeof duckDb.query>) => {
        count += 1;
        return await duckDb.query(statement, during);
      },
    });
    const context = {
      duckDb: counting,
      path,
      file: path,
      types: new Map(),
      scratch: path,
      isSmall: false,
      staged: UNLIMITED_STAGING,
    };
    const source = await openJson(context, 'newline_delimited', signal);
    assert.deepEqual(
      source.columns.slice(0, 2).map(({ type }) => type.kind),
      ['row', 'array'],
    );
    const once = count;
    const widened = await source.widen(signal);
    assert.deepEqual(
      widened.columns.map(({ type }) => type),
      source.columns.map(({ type }) => type),
    );
    return { once, widened: count - once };
  };
  assert.deepEqual(await statementsOf(40), await statementsOf(2));
});
