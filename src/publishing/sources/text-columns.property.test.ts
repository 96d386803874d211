/** Of a small file the kinds of values are found by a statement that is planned once: what it finds is what is found in any file. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { openFolderDuckDb } from '../../../test/feature/folder-duckdb.ts';
import { UNLIMITED_STAGING } from '../staging-budget.ts';
import { openCsv } from './csv/csv-source.ts';
import { openJson } from './json/json-source.ts';
import type { Source, SourceContext } from './source.ts';

const CASES = Number(process.env.TEST_CASES ?? 60);
const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const { signal } = new AbortController();

const folder = await mkdtemp(join(tmpdir(), 'qrs-columns-'));
const duckDb = await openFolderDuckDb(folder, 1);
after(async () => {
  await duckDb[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const path = join(folder, 'input');

const context = (isSmall: boolean): SourceContext => ({
  ...{ duckDb, path, file: path, types: new Map(), scratch: folder, isSmall, staged: UNLIMITED_STAGING },
});

const typesOf = ({ columns }: Source) => columns.map(({ name, type, stored }) => ({ name, type, stored }));

/** Those of a column are mostly of one kind, and of the kinds that are told apart. */
const KINDS = [
  ['1', '-7', '0', '123456789012345'],
  ['9007199254740993', '-9223372036854775808', '170141183460469231731687303715884105727'],
  ['115792089237316195423570985008687907853269984665640564039457584007913129639935', '-1'],
  ['1.5', '.5', '1e5', '-0.25', '1.10', '0.1234567890123456789', 'NaN', '-Infinity'],
  ['true', 'False', 'TRUE'],
  ['2024-03-05', '1999-12-31'],
  ['2024-03-05 20:50:59', '2024-03-05 20:50:59.123', '2024-03-05T20:50', '2024-03-05 20:50:59.123456'],
  ['2024-03-05 20:50:59 UTC', '2024-03-05T20:50:59.123+01:30', '2024-03-05 20:50:59.123456Z'],
  ['[1, 2]', '{"a": 1}', '[]'],
  ['', '007', 'a\u0001b', '😀', 'é', '"', '\\', '\\u0000', 'null', "it's", 'a,b', '\u2028', ' 1'],
] as const;
const cell = (kind: readonly string[]) =>
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...kind) }, { weight: 1, arbitrary: fc.constant(null) });
const rows = fc
  .array(fc.tuple(fc.constantFrom(...KINDS), fc.option(fc.constantFrom(...KINDS), { freq: 3 })), {
    minLength: 1,
    maxLength: 5,
  })
  .chain((columns) =>
    fc.array(
      fc.tuple(...columns.map(([kind, other]) => (other === null ? cell(kind) : fc.oneof(cell(kind), cell(other))))),
      {
        minLength: 1,
        maxLength: 8,
      },
    ),
  );

test(`types and their reading are the same for CSV (${CASES} cases)`, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const quoted = (value: string | null) => (value === null ? '' : `"${value.replaceAll('"', '""')}"`);
  await fc.assert(
    fc.asyncProperty(rows, async (values) => {
      const header = (values[0] ?? []).map((_, i) => `k${i}`).join(',');
      await writeFile(path, `${header}\n${values.map((row) => `${row.map(quoted).join(',')}\n`).join('')}`);
      const [few, any] = [await openCsv(context(true), signal), await openCsv(context(false), signal)];
      assert.deepEqual(typesOf(few), typesOf(any));
    }),
    { numRuns: CASES, seed: SEED },
  );
});

test(`types and their reading are the same for NDJSON (${CASES} cases)`, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const isBare = (value: string) => {
    try {
      return JSON.stringify(JSON.parse(value)) !== undefined;
    } catch {
      return false;
    }
  };
  const written = (value: string | null) => (value === null ? 'null' : isBare(value) ? value : JSON.stringify(value));
  await fc.assert(
    fc.asyncProperty(rows, async (values) => {
      const lines = values.map((row) => `{${row.map((value, i) => `"k${i}":${written(value)}`).join(',')}}\n`);
      await writeFile(path, lines.join(''));
      const open = (isSmall: boolean) => openJson(context(isSmall), 'newline_delimited', signal);
      assert.deepEqual(typesOf(await open(true)), typesOf(await open(false)));
    }),
    { numRuns: CASES, seed: SEED },
  );
});

test('a file without rows, and one of nothing but nulls, has columns of text either way', async () => {
  for (const text of ['a,b\n', 'a,b\n,\n,\n']) {
    await writeFile(path, text);
    for (const isSmall of [true, false]) {
      const { columns } = await openCsv(context(isSmall), signal);
      assert.deepEqual(
        columns.map(({ type }) => type.kind),
        ['varchar', 'varchar'],
      );
    }
  }
});
