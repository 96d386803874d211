/**
 * The datasets' SQL runs unchanged on DuckDB and on Trino. No parser of both is at hand, so this test allows only what is known
 * to mean the same in both: a list of functions and types, and no syntax that only one of them reads.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadDatasets } from '../../src/datasets/registry.ts';

/**
 * Taken to mean the same in both. `date_diff` counts boundaries in one and elapsed time in the other, which is the same for
 * dates, so it is given dates only. `CAST(timestamp AS VARCHAR)` differs after the seconds, so only 19 characters are used.
 * `millisecond` counts those of the second in one and those of the minute in the other, so its remainder by 1000 is taken.
 */
const FUNCTIONS = [
  'array_agg',
  'cast',
  'coalesce',
  'count',
  'date_diff',
  'floor',
  'lower',
  'lpad',
  'millisecond',
  'min',
  'row_number',
  'substr',
  'sum',
  'unnest',
];
/** Words that may stand before a parenthesis without being functions. */
const SYNTAX = ['as', 'decimal', 'filter', 'in', 'on', 'over', 'values', 'and', 'or', 'not'];
const TYPES = ['BIGINT', 'DATE', 'DECIMAL(38, 0)', 'DECIMAL(38, 6)', 'DOUBLE', 'TIMESTAMP WITH TIME ZONE', 'VARCHAR'];

/** Syntax that one engine does not read, or reads differently. */
const FOREIGN: readonly (readonly [what: string, mark: RegExp])[] = [
  [':: casts', /::/],
  ['QUALIFY', /\bqualify\b/i],
  ['SELECT * with EXCLUDE, REPLACE or COLUMNS', /\b(exclude|replace|columns)\s*\(/i],
  ['GROUP BY ALL, ORDER BY ALL', /\bby\s+all\b/i],
  ['lambdas', /->|\blambda\b/i],
  ['square brackets, except of ARRAY[]', /(?<!\bARRAY)\[/],
  ['braces', /[{}]/],
  ['semi, anti, asof and positional joins', /\b(semi|anti|asof|positional)\s+join\b/i],
  ['samples', /\bsample\b/i],
  ['PIVOT', /\b(un)?pivot\b/i],
  ['integer division', /\/\//],
  ['an interval without quotes', /\binterval\s+[0-9]/i],
  ['a literal like 1.5, a decimal of another scale in each', /(?<![\w.])[0-9]+\.[0-9]+(?!e)/i],
  [
    'a decimal cast to a double, which DuckDB rounds twice: cast the text of it',
    /(?:shares|DECIMAL\([0-9, ]+\)\)+) AS DOUBLE\)/i,
  ],
  ['a semicolon', /;/],
];

const DATASETS = await loadDatasets({ strategyColumnNames: 'token' });

/** The SQL without comments, with every text and quoted name emptied. */
function bare(sql: string): string {
  return sql.replaceAll(/'(?:[^']|'')*'|--[^\n]*|"[^"]*"/g, (found) =>
    found.startsWith('-') ? '' : found.slice(0, 1).repeat(2),
  );
}

/** What in the SQL only one of the engines has, or they read differently. */
function foreignTo(text: string): readonly string[] {
  const sql = bare(text);
  const defined = [...sql.matchAll(/\b([a-z_]+) \([a-z_, ]+\) AS \(/g)].map((match) => match[1] ?? '');
  const known = new Set([...FUNCTIONS, ...SYNTAX, ...defined, 'embedded']);
  const called = [...sql.matchAll(/\b([a-z_0-9]+)\s*\(/gi)].map((match) => (match[1] ?? '').toLowerCase());
  const types = [...sql.matchAll(/\bAS ([A-Z]{3,}[A-Z ]*(?:\([0-9, ]+\))?)\)/g)].map((match) => match[1] ?? '');
  return [
    ...new Set(called.filter((name) => !known.has(name)).map((name) => `the function ${name}`)),
    ...new Set(types.filter((type) => !TYPES.includes(type)).map((type) => `the type ${type}`)),
    ...FOREIGN.filter(([, mark]) => mark.test(sql)).map(([what]) => what),
  ];
}

for (const dataset of DATASETS) {
  test(`the SQL of ${dataset.name} is what both engines run, and ends in an ORDER BY`, () => {
    const sql = dataset.sql.replaceAll('{{as_of}}', "CAST('2024-03-05 00:00:00 UTC' AS TIMESTAMP WITH TIME ZONE)");
    assert.deepEqual(foreignTo(sql), []);
    assert.match(sql, /\nORDER BY [^()]+$/);
  });
}

describe('syntax of only one engine is found', () => {
  const cases: readonly (readonly [sql: string, found: string])[] = [
    ["SELECT '1'::bigint", ':: casts'],
    ['SELECT a FROM t QUALIFY b = 1', 'QUALIFY'],
    ['SELECT * EXCLUDE (a) FROM t', 'SELECT * with EXCLUDE, REPLACE or COLUMNS'],
    ['SELECT a, SUM(b) FROM t GROUP BY ALL', 'GROUP BY ALL, ORDER BY ALL'],
    ['SELECT arg_max(a, b) FROM t', 'the function arg_max'],
    ['SELECT strftime(a) FROM t', 'the function strftime'],
    ['SELECT a[1] FROM t', 'square brackets, except of ARRAY[]'],
    ["SELECT {'a': 1}", 'braces'],
    ['SELECT 7 // 2', 'integer division'],
    ['SELECT a - INTERVAL 14 DAY', 'an interval without quotes'],
    ['SELECT a * 1.5', 'a literal like 1.5, a decimal of another scale in each'],
    ['SELECT CAST(a AS HUGEINT)', 'the type HUGEINT'],
    ['SELECT CAST(a AS DECIMAL(18, 3))', 'the type DECIMAL(18, 3)'],
    [
      'SELECT CAST(SUM(CAST(a AS DECIMAL(38, 6))) AS DOUBLE)',
      'a decimal cast to a double, which DuckDB rounds twice: cast the text of it',
    ],
    ['SELECT 1; SELECT 2', 'a semicolon'],
  ];
  for (const [sql, found] of cases) test(sql, () => assert.ok(foreignTo(sql).includes(found), foreignTo(sql).join()));
});
