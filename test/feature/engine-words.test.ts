/** What is wrong with a query's SQL, its values or its source tables is said in words of ours: never a setting, a path or DuckDB's advice. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runQuery } from '../../src/engine/duckdb/run-query.ts';
import { EngineError } from '../../src/engine/engine.ts';
import { sleep } from '../real-time.ts';

const root = await mkdtemp(join(tmpdir(), 'qrs-words-'));
after(() => rm(root, { recursive: true, force: true }));
const sourcesDirectory = join(root, 'sources');
await mkdir(join(sourcesDirectory, 'shop'), { recursive: true });
const FILES = {
  'orders.csv': 'id,amount,chain\n1,5,base\n2,x,celo\n',
  'uneven.csv': 'a,b\n1,2\n3\n4,5,6\n',
  'later.csv': `a,b\n${'1,2\n'.repeat(30_000)}3\n`,
  'open_quote.csv': 'a,b\n1,"2\n',
  'latin.csv': Buffer.from('a,b\n1,caf\xe9\n', 'latin1'),
  'semicolons.csv': 'a;b\n1;"x; ""y"""\n',
  'late.ndjson': `${'{"a":1}\n'.repeat(30_000)}{"a":}\n{"a":1}\n`,
  'half.ndjson': '{"a":1}\n{"a":\n',
  'noise.parquet': 'this is no Parquet file, whatever its name says',
};
for (const [name, content] of Object.entries(FILES)) await writeFile(join(sourcesDirectory, 'shop', name), content);

async function failureOf(sql: string): Promise<EngineError> {
  const tempDirectory = await mkdtemp(join(root, 'temp-'));
  const path = join(tempDirectory, 'result.parquet');
  const limits = { threads: 1, memoryLimit: '128MB', tempSizeMax: '10MB' };
  const job = { sql, sources: [], path, sourcesDirectory, tempDirectory, ...limits };
  const error = await runQuery(job, sleep).then(
    () => assert.fail(`no error: ${sql}`),
    (error: unknown) => error,
  );
  assert.ok(error instanceof EngineError, `${sql}: ${error}`);
  return error;
}

const CASES: readonly (readonly [sql: string, message: string, column?: number])[] = [
  // What cannot be read.
  ['SELECT * FORM shop.orders', 'the SQL cannot be read from "shop" on', 15],
  ['SELECT (1', 'the SQL ends where something must follow', 10],
  ["SELECT 'abc", 'the text that begins here has no closing quote', 8],
  ['SELECT ""', 'a name in quotes is empty', 8],
  ['SELECT FROM shop.orders', 'SELECT names no columns'],
  ['SELECT if(1, 2)', 'IF() has another number of arguments'],
  ['SELECT 1e400::DOUBLE', 'a number in the SQL is too large for any type'],
  ['SELECT * FROM (VALUES (1), (2, 3))', 'the rows of VALUES must have the same number of columns'],
  // Names.
  ['SELECT amuont FROM shop.orders', 'there is no column "amuont"; did you mean "amount"?', 8],
  ['SELECT zzz FROM shop.orders', 'there is no column "zzz"', 8],
  ['SELECT o.zzz FROM shop.orders o', '"o" has no column "zzz"', 8],
  ['SELECT x.id FROM shop.orders o', 'the SQL reads no table "x", but "o"', 8],
  ['SELECT id FROM shop.orders a, shop.orders b', '"id" may be several columns: write "a.id" or "b.id"', 8],
  ['SELECT * EXCLUDE (nope) FROM shop.orders', 'EXCLUDE names no column of these: "nope"'],
  ['SELECT lowr(chain) FROM shop.orders', 'there is no function lowr(); did you mean "lower"?', 8],
  ['SELECT qqqzzz(1)', 'there is no function qqqzzz()', 8],
  ['SELECT lag(id) FROM shop.orders', 'lag() needs a window: lag(…) OVER (ORDER BY …)', 8],
  ['SELECT CAST(1 AS INTEEGER)', 'there is no type INTEEGER; did you mean integer or int?', 18],
  ["SELECT ({'a': 1}).b", 'there is no field "b"; did you mean "a"?'],
  // How it is put together.
  [
    'SELECT chain, id FROM shop.orders GROUP BY chain',
    '"id" is neither in GROUP BY nor in an aggregate: group by it, or take any_value(id)',
    15,
  ],
  [
    'SELECT 1 FROM shop.orders WHERE sum(1) > 1',
    'WHERE cannot hold aggregates: conditions on these go into HAVING',
    33,
  ],
  ['SELECT sum(sum(1))', 'an aggregate cannot stand in an aggregate: take a subquery', 12],
  ['SELECT 1 UNION SELECT 1, 2', 'the sides of UNION, INTERSECT and EXCEPT must have the same number of columns'],
  ['SELECT 1 ORDER BY 3', 'ORDER BY: a number names a column of the SELECT, which has 1', 19],
  [
    'SELECT (SELECT 1 FROM range(2))',
    'a subquery that stands for one value gave several rows: take an aggregate of them, or LIMIT 1',
  ],
  // Types.
  ['SELECT sum(chain) FROM shop.orders', 'sum() does not take varchar: cast to what it takes', 8],
  ['SELECT chain + 1 FROM shop.orders', '+ does not go with varchar and integer: cast to types with which it does', 14],
  ['SELECT chain > 5 FROM shop.orders', 'varchar cannot be compared with integer: cast one of them', 14],
  [
    "SELECT CASE WHEN true THEN 1 ELSE DATE '2020-01-01' END",
    'date and integer cannot stand for one value: cast one of them',
    8,
  ],
  ['SELECT 1::DATE', 'integer cannot be cast to date', 9],
  // Values.
  ['SELECT amount::INT FROM shop.orders', '"x" in "amount" cannot be read as integer', 14],
  ['SELECT amount::DECIMAL(10, 2) FROM shop.orders', '"x" in "amount" cannot be read as decimal(10, 2)', 14],
  ["SELECT 'abc'::DATE", '"abc" cannot be read as date: expected YYYY-MM-DD', 13],
  ["SELECT '2020-13-01'::TIMESTAMP", '"2020-13-01" is no timestamp that there is', 20],
  ['SELECT 999999::TINYINT', '999999 is out of the range of tinyint', 14],
  ['SELECT 12345::DECIMAL(3,2)', '12345 does not fit into decimal(3,2)', 13],
  [
    'SELECT 9223372036854775807 + 1::BIGINT',
    '9223372036854775807 + 1 is out of the range of bigint: cast to a wider type',
  ],
  ['SELECT abs((-128)::TINYINT)', 'a value is out of the range of its type: cast to a wider type'],
  ['SELECT sqrt(-1)', 'the square root of a negative number is not defined'],
  ["SELECT '{a'::JSON", 'a text is not JSON: what is wrong is at its byte 1', 12],
  ["SELECT regexp_matches('a', '(')", '"(" is no regular expression'],
  ["SELECT date_trunc('fortnight', now())", '"fortnight" is no part of a time, as "hour" is'],
  // What is not known is said to be DuckDB's, without its advice.
  ['SELECT map([1, 1], [2, 3])', 'the query failed; DuckDB says: "Map keys must be unique."'],
  ["SELECT error('SET memory_limit')", 'the query failed'],
  ["SELECT error('see /etc/passwd/x')", 'the query failed'],
  // Memory.
  [
    "SELECT string_agg(repeat('x', 1000) || i) FROM range(5000000) t(i)",
    'the query took more memory than it may (QRS_ENGINE_MEMORY)',
  ],
  // Source tables.
  [
    'SELECT * FROM shop.uneven',
    'source table shop.uneven cannot be read: its lines do not have as many values as the first, "a,b"',
  ],
  [
    'SELECT * FROM shop.open_quote',
    'source table shop.open_quote cannot be read: its lines do not have as many values as the first, "a,b"',
  ],
  [
    'SELECT * FROM shop.later',
    'a CSV file of a source table cannot be read: line 30002 has 1 value, and the others have 2',
  ],
  ['SELECT * FROM shop.latin', 'source table shop.latin cannot be read: line 2 of the CSV is not UTF-8'],
  ['SELECT * FROM shop.half', 'source table shop.half cannot be read: half.ndjson: near line 3 is no JSON'],
  ['SELECT * FROM shop.late', 'source table shop.late cannot be read: late.ndjson: near line 30002 is no JSON'],
  ['SELECT * FROM shop.noise', 'source table shop.noise cannot be read: it is no Parquet file, or a damaged one'],
];

test('what is wrong with a query is said in words of ours, with its place', async () => {
  for (const [sql, message, column] of CASES) {
    const error = await failureOf(sql);
    assert.equal(error.message, message, sql);
    assert.equal(error.column, column, sql);
    assert.equal(error.line, column === undefined ? undefined : 1, sql);
  }
});

test('CSV that is separated by something else than commas is read', async () => {
  assert.equal(
    (await failureOf('SELECT b::INT FROM shop.semicolons')).message,
    '"x; "y"" in "b" cannot be read as integer',
  );
});
