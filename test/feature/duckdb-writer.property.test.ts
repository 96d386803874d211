/**
 * Law of foreign writers, for DuckDB's own files: a value of any type inside lists, maps and structs, two levels deep, is
 * published as it is by itself. publish-types.test.ts holds what it is by itself.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { DUCKDB_TYPES } from './duckdb-types.ts';
import { type ExactValue, parseExact, rowsText } from './exact-json.ts';
import { startHttpService } from './http-service.ts';

const CASES = Number(process.env.TEST_CASES ?? 4);
const SEED = Number(process.env.TEST_SEED ?? 20_240_305);
const ROWS = 5;

/** A `key` is a map of one entry, with the value as its key. */
const WORDS = ['list', 'map', 'row', 'key'] as const;
type Word = (typeof WORDS)[number];

/** A leaf is the number of the row that has the value by itself. */
type Tree = number | null | readonly Tree[];

interface Shaped {
  readonly shape: readonly Word[];
  readonly trees: readonly Tree[];
}

const LENGTHS = { list: [0, 3], map: [0, 3], row: [2, 2], key: [1, 1] } as const;

function tree([word, ...rest]: readonly Word[]): fc.Arbitrary<Tree> {
  const leaf = fc.nat(ROWS - 1);
  if (word === undefined) return leaf;
  const [minLength, maxLength] = LENGTHS[word];
  const member = word === 'key' ? leaf : fc.option(tree(rest), { freq: 5 });
  return fc.array(member, { minLength, maxLength });
}

/** One floating number has several spellings as a key, so floating keys are left out. */
function shaped(type: string): fc.Arbitrary<Shaped> {
  const outer = WORDS.filter((word) => word !== 'key');
  const inner = ['double', 'real'].includes(type) || type.startsWith('map') ? outer : WORDS;
  const shapes = [...inner.map((word) => [word]), ...outer.flatMap((word) => inner.map((below) => [word, below]))];
  return fc
    .constantFrom(...shapes)
    .chain((shape) =>
      fc
        .array(fc.option(tree(shape), { freq: 6 }), { minLength: ROWS, maxLength: ROWS })
        .map((trees) => ({ shape, trees })),
    );
}

/** The type's name around `type` in this shape, in the words for a list, a map, a row and a key. */
function nest(type: string, [word, ...rest]: readonly Word[], names: Readonly<Record<Word, string>>): string {
  return word === undefined ? type : names[word].replaceAll('T', () => nest(type, rest, names));
}

const DUCKDB_NAMES = { list: 'T[]', map: 'MAP(varchar, T)', row: 'struct(a T, b T)', key: 'MAP(T, integer)' };
const COLUMN_NAMES = { list: 'array(T)', map: 'map(varchar, T)', row: 'row(a T, b T)', key: 'map(T, integer)' };

function sqlOf(at: Tree, [word, ...rest]: readonly Word[], leaf: (row: number) => string): string {
  if (at === null) return 'NULL';
  if (typeof at === 'number') return leaf(at);
  const members = at.map((member) => sqlOf(member, rest, leaf));
  switch (word) {
    case 'row':
      return `{'a': ${members[0]}, 'b': ${members[1]}}`;
    case 'map':
      return `MAP {${members.map((member, i) => `'k${i}': ${member}`).join(', ')}}`;
    case 'key':
      return `MAP {${members[0]}: 1}`;
    default:
      return `[${members.join(', ')}]`;
  }
}

/** The answer that is expected, made from the values by themselves. */
function answerOf(at: Tree, [word, ...rest]: readonly Word[], leaf: (row: number) => ExactValue): ExactValue {
  if (at === null) return null;
  if (typeof at === 'number') return leaf(at);
  const members = at.map((member) => answerOf(member, rest, leaf));
  switch (word) {
    case 'row':
      return { sa: members[0] ?? null, sb: members[1] ?? null };
    case 'map':
      return Object.fromEntries(members.map((member, i) => [`sk${i}`, member]));
    case 'key':
      return { [keyOf(members[0] ?? null)]: 'n1' };
    default:
      return members;
  }
}

/** Spelled as `parseExact` spells keys. A list (of whole numbers) as a key is JSON. */
function keyOf(value: ExactValue): string {
  return `s${textOf(value)}`;
}

function textOf(value: ExactValue): string {
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`;
  return typeof value === 'string' ? value.slice(1) : String(value);
}

test("DuckDB's files have values of every type at any depth as by themselves", async (t) => {
  const service = await startHttpService(t);
  const path = join(service.commandLine.dataDir, 'duckdb.parquet');
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  t.after(() => {
    connection.closeSync();
    instance.closeSync();
  });
  const number = fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n });
  const files = fc.record({
    numbers: fc.array(number, { minLength: ROWS, maxLength: ROWS }),
    columns: fc.tuple(...DUCKDB_TYPES.map(([, type]) => shaped(type))),
    options: fc.constantFrom('PARQUET_VERSION v1', 'PARQUET_VERSION v2, COMPRESSION zstd', 'DICTIONARY_SIZE_LIMIT 0'),
  });
  const law = fc.asyncProperty(files, async ({ numbers, columns, options }) => {
    const selected = DUCKDB_TYPES.flatMap(([type, , of], i) => {
      const { shape, trees } = columns[i] ?? { shape: [], trees: [] };
      const leaf = (row: number) => `CAST(${of(numbers[row] ?? 0n)} AS ${type})`;
      const name = nest(type, shape, DUCKDB_NAMES);
      const nested = trees.map((at) => `CAST(${sqlOf(at, shape, leaf)} AS ${name})`);
      const alone = numbers.map((_, row) => leaf(row));
      return [`unnest([${alone.join(', ')}]) AS v${i}`, `unnest([${nested.join(', ')}]::${name}[]) AS x${i}`];
    });
    await connection.run(`COPY (SELECT ${selected.join(', ')}) TO '${path}' (FORMAT parquet, ${options})`);
    const { id } = await service.publish(7, await readFile(path), { format: 'parquet' });
    const response = await service.get(`/v1/execution/${id}/results?ignore_max_datapoints_per_request=true`);
    const answer = await response.text();
    assert.equal(response.status, 200, answer);
    const expectedTypes = DUCKDB_TYPES.flatMap(([, type], i) => [
      type,
      nest(type, columns[i]?.shape ?? [], COLUMN_NAMES),
    ]);
    assert.deepEqual(JSON.parse(answer).result.metadata.column_types, expectedTypes);
    const rows = parseExact(`[${rowsText(answer)}]`) as readonly Readonly<Record<string, ExactValue>>[];
    for (const [i, { shape, trees }] of columns.entries()) {
      const expected = trees.map((at) => answerOf(at, shape, (row) => rows[row]?.[`sv${i}`] ?? null));
      const found = rows.map((row) => row[`sx${i}`]);
      assert.deepEqual(found, expected, `${DUCKDB_TYPES[i]?.[0]} in ${shape.join(' of ')}`);
    }
  });
  await fc.assert(law, { numRuns: CASES, seed: SEED, endOnFailure: true });
});
