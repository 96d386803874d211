/**
 * Parameters are bound, never pasted: whatever a value holds, and whatever is around `{{name}}` in the SQL, the row that comes
 * back has the value itself. Errors are placed in the SQL as its author wrote it.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import fc from 'fast-check';
import type { ParameterValue } from '../../src/domain/parameter-values.ts';
import { runQuery } from '../../src/engine/duckdb/run-query.ts';
import { EngineError } from '../../src/engine/engine.ts';
import { tokenizeSql } from '../../src/engine/sql/sql-tokens.ts';
import { readParquetRows } from '../contract/read-parquet-rows.ts';
import { sleep } from '../real-time.ts';

const CASES = Number(process.env.TEST_CASES ?? 40);
const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

const root = await mkdtemp(join(tmpdir(), 'qrs-parameters-'));
after(() => rm(root, { recursive: true, force: true }));
let runs = 0;

async function run(sql: string, parameters: readonly ParameterValue[] = []): Promise<readonly unknown[]> {
  const path = join(root, `${++runs}.parquet`);
  const limits = { threads: 1, memoryLimit: '128MB', tempSizeMax: '0GB' };
  await runQuery({ sql, parameters, sources: [], path, sourcesDirectory: root, tempDirectory: root, ...limits }, sleep);
  return (await readParquetRows(path))[0] ?? [];
}

const text = (key: string, value: string): ParameterValue => ({ key, type: 'text', value });
const number = (key: string, value: string): ParameterValue => ({ key, type: 'number', value });

const HOSTILE = [
  "'; DROP TABLE x; --",
  "' OR '1'='1",
  '$1',
  '{{a}}',
  '{{b}}',
  '}}',
  '*/',
  '/*',
  '--',
  '"',
  "\\'",
  '$$',
  '$tag$',
  "e'\\''",
  ") TO '/tmp/x'; --",
  '%',
  '\n',
  '😀',
  '\u2028',
] as const;
const hostileText = fc
  .array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'grapheme', maxLength: 4 })), { maxLength: 5 })
  .map((parts) => parts.join('').replaceAll('\0', ''));
const hostileName = fc
  .array(
    fc.constantFrom('a', 'B', 'Name', ' ', '$1', '$$', '--', '/*', '*/', ';', '?', '%', ')', '(', 'é', '😀', '\\', '`'),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  .map((parts) => parts.join('').trim())
  .filter((name) => name !== '');

/** What may stand in front of a value and changes nothing; marks within it are no parameters. */
const noise = fc.constantFrom(
  '',
  ' ',
  '\n',
  "/* it's {{a}} */",
  '/* /* nested {{x}} */ still " */',
  "-- it's a {{comment}}\n",
  '-- $$ " \'\n',
  "length('--') * 0 + ",
);
const decoy = fc.constantFrom(
  `'it''s -- no comment'`,
  `'/* no comment'`,
  `'say "no name"'`,
  "$$ {{x}} it's -- $$",
  "$tag$ $$ {{x}} ' $tag$",
  "e'\\'{{x}}'",
  '(SELECT 1 AS "{{x}} -- \'")',
  "'$$'",
  "'$1'",
);

test(`values come back unchanged, whatever they hold and whatever is around them (${CASES} cases)`, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const column = fc.record({ name: hostileName, value: hostileText, noise, decoy, quoted: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(column, { minLength: 1, maxLength: 6, selector: ({ name }) => name }),
      async (columns) => {
        const sql = columns
          .map(({ name, noise: before, decoy: other, quoted }, i) => {
            const value = quoted ? `'<{{${name}}}>'` : `{{${name}}}`;
            const kept = before.startsWith('length') ? '' : before;
            return `${kept}${other} AS d${i}, ${kept} ${value} ${before.startsWith('--') ? before : ''} AS c${i}`;
          })
          .join(',\n');
        const parameters = columns.map(({ name, value }) => text(name, value));
        const row = await run(`SELECT ${sql}`, parameters);
        assert.deepEqual(
          row.filter((_, i) => i % 2 === 1),
          columns.map(({ value, quoted }) => (quoted ? `<${value}>` : value)),
        );
      },
    ),
    { numRuns: CASES, seed: SEED },
  );
});

test(`numbers keep all their digits (${CASES} cases)`, async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const digits = fc.stringMatching(/^-?[1-9][0-9]{0,17}(\.[0-9]{1,19})?$/);
  await fc.assert(
    fc.asyncProperty(fc.array(digits, { minLength: 1, maxLength: 8 }), async (values) => {
      const sql = values.map((_, i) => `CAST({{n${i}}} AS VARCHAR) AS c${i}`).join(', ');
      const row = await run(
        `SELECT ${sql}`,
        values.map((value, i) => number(`n${i}`, value)),
      );
      assert.deepEqual(row, values);
    }),
    { numRuns: Math.ceil(CASES / 4), seed: SEED },
  );
});

test(`the tokens of any SQL text, joined, are that text (${CASES * 25} cases)`, () => {
  const pieces = fc.constantFrom(...HOSTILE, "'", "''", 'SELECT', ' ', 'a$b', '{{', 'x', '1', "E'", '$a', ';');
  fc.assert(
    fc.property(fc.array(pieces), (parts) => {
      const sql = parts.join('');
      const tokens = tokenizeSql(sql, 'nested');
      assert.equal(tokens.map((token) => token.text).join(''), sql);
      for (const token of tokens) assert.equal(sql.startsWith(token.text, token.start) && token.text !== '', true);
    }),
    { numRuns: CASES * 25, seed: SEED },
  );
});

describe('types', () => {
  const typed: readonly (readonly [parameter: ParameterValue, type: string])[] = [
    [text('x', '5'), 'VARCHAR'],
    [{ key: 'x', type: 'enum', value: 'a' }, 'VARCHAR'],
    [number('x', '5'), 'BIGINT'],
    [number('x', '-9223372036854775807'), 'BIGINT'],
    [number('x', '9223372036854775808'), 'HUGEINT'],
    [number('x', '12.50'), 'DECIMAL(4,2)'],
    [number('x', '.5'), 'DECIMAL(1,1)'],
    [number('x', '1e3'), 'DOUBLE'],
    [{ key: 'x', type: 'datetime', value: '2024-03-05 00:00:00' }, 'TIMESTAMP'],
    [{ key: 'x', type: 'datetime', value: '2024-03-05 00:00:00+01:30' }, 'TIMESTAMP WITH TIME ZONE'],
  ];
  for (const [parameter, type] of typed) {
    test(`${parameter.type} ${parameter.value} is a ${type}`, async () => {
      assert.deepEqual(await run('SELECT typeof({{x}}) AS t, {{x}} IS NULL AS n', [parameter]), [type, false]);
    });
  }

  test('where values stand', async () => {
    const sql = `SELECT array_agg(range ORDER BY range)::VARCHAR AS list FROM
      (SELECT range FROM range({{to}}) WHERE range >= {{from}} AND range IN ({{a}}, {{ b }}) LIMIT {{limit}} OFFSET {{zero}})`;
    const parameters = { to: '10', from: '2', a: '3', b: '4', limit: '5', zero: '0' };
    assert.deepEqual(
      await run(
        sql,
        Object.entries(parameters).map(([key, value]) => number(key, value)),
      ),
      ['[3, 4]'],
    );
    const interval = "SELECT (DATE '2024-03-05' + INTERVAL {{days}} DAY)::VARCHAR AS d";
    assert.deepEqual(await run(interval, [number('days', '2')]), ['2024-03-07 00:00:00']);
  });
});

describe('errors say where in the SQL as it was written', () => {
  const x = text('x', 'value');
  const cases: readonly (readonly [sql: string, line: number, column: number, message: RegExp])[] = [
    ['SELECT 1 AS\n  {{x}}', 2, 3, /^no value can stand at \{\{x\}\}: a parameter is a value/],
    ['SELECT * FROM {{x}}', 1, 15, /^no value can stand at \{\{x\}\}/],
    ['SELECT {{x}} AS a,\n TIMESTAMP {{x}}', 2, 12, /./],
    ['SELECT "{{x}}"', 1, 8, /^\{\{x\}\} cannot stand in a name: a parameter is a value/],
    ["SELECT 1, e'{{x}}'", 1, 11, /^\{\{x\}\} cannot stand in a text with escapes/],
    ['SELECT $$ {{x}} $$', 1, 8, /^\{\{x\}\} cannot stand in a text with escapes or dollar quotes/],
    ["SELECT x'{{x}}'", 1, 9, /cannot stand in a text with a prefix/],
    ['SELECT\n {{y}}', 2, 2, /^\{\{y\}\} is not declared: add it to the parameters of the query/],
    ["SELECT 1,\n '{{x}}''", 2, 2, /the text that begins here has no closing quote/],
    ["SELECT '{{y}}'", 1, 8, /^\{\{y\}\} is not declared/],
    ['SELECT {{x}}, $1', 1, 15, /^\$1 is no parameter here: write \{\{name\}\}/],
    ['SELECT {{x}}, {{x}},\n /* {{x}} */ {{x}}, nothing', 2, 21, /nothing/],
    ["SELECT '{{x}}', 'é😀', nothing", 1, 23, /nothing/],
    ["SELECT {{x}}, 'é😀',\n 'é😀', ]", 2, 8, /the SQL cannot be read from "\]" on/],
    ["SELECT {{x}}, 'é😀',\n 'é😀', read_text({{x}})", 2, 8, /^a query cannot call read_text\(\)/],
    ["SELECT {{x}}, {{x}}, read_text('x') FROM read_text({{x}})", 1, 42, /read_text/],
    ['SELECT {{x}}::INT AS n', 1, 13, /"value" cannot be read as integer/],
  ];
  for (const [sql, line, column, message] of cases) {
    test(sql, async () => {
      const error = await run(sql, [x]).catch((e: unknown) => e);
      assert.ok(error instanceof EngineError, String(error));
      assert.match(error.message, message);
      assert.deepEqual([error.line, error.column], [line, column], error.message);
    });
  }

  test('the character NUL, up to which DuckDB takes a statement', async () => {
    for (const [sql, line, column] of [
      ['SELECT 1\n FROM \0 x', 2, 7],
      ["SELECT 'a\0b'", 1, 10],
    ] as const) {
      const message = 'a query cannot hold the character NUL';
      await assert.rejects(run(sql), { type: 'syntax_error', message, line, column });
    }
  });
});
