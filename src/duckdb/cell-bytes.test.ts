import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { parseColumnType } from '../domain/column-type.ts';
import { cellBytesOf, rowBytesOf, totalBytesOf } from './cell-bytes.ts';

let instance: DuckDBInstance;
before(async () => {
  instance = await DuckDBInstance.create(':memory:');
});
after(() => instance.closeSync());

async function evaluate(sql: string): Promise<unknown> {
  const connection = await instance.connect();
  const rows = await (await connection.run(sql)).getRows();
  connection.closeSync();
  return rows[0]?.[0];
}

/** Type, a stored value, its cell bytes. */
const CASES: readonly (readonly [string, string, bigint])[] = [
  ['boolean', 'true', 1n],
  ['tinyint', '1::TINYINT', 1n],
  ['smallint', '1::SMALLINT', 2n],
  ['integer', '1', 4n],
  ['real', '1::FLOAT', 4n],
  ['date', `DATE '2024-03-05'`, 4n],
  ['bigint', '1::BIGINT', 8n],
  ['double', `'NaN'::DOUBLE`, 8n],
  ['time', `TIME '10:00:00'`, 8n],
  ['time with time zone', `'10:00:00+02'`, 8n],
  ['timestamp(9)', `TIMESTAMP_NS '2024-03-05 10:00:00.123456789'`, 8n],
  ['timestamp(3) with time zone', `TIMESTAMPTZ '2024-03-05 10:00:00Z'`, 8n],
  ['decimal(4, 1)', '1.5::DECIMAL(4, 1)', 16n],
  ['hugeint', `'170141183460469231731687303715884105727'`, 16n],
  ['uuid', `'6f2a3c1e-0000-4000-8000-000000000000'::UUID`, 16n],
  ['interval', `'1 day'`, 16n],
  ['uint256', `'7'`, 32n],
  ['int256', `'-7'`, 32n],
  ['varchar', `''`, 0n],
  ['varchar', `'é€😀'`, 9n],
  ['json', `'{"a": 1}'`, 8n],
  ['varbinary', `'\\x00\\xFF'::BLOB`, 2n],
  ['array(bigint)', '[1, NULL, 3]::BIGINT[]', 16n],
  ['array(varchar)', `['é', NULL, '', 'ab']`, 4n],
  ['array(uint256)', `['1', '22']`, 64n],
  ['array(varbinary)', `['\\x00'::BLOB, NULL, 'abc'::BLOB]`, 4n],
  ['array(array(varchar))', `[['a'], NULL, ['bc', 'd']]`, 4n],
  ['array(array(array(integer)))', '[[[1, 2], NULL], [[3]]]', 12n],
  ['array(varchar)', '[]::VARCHAR[]', 0n],
  ['map(varchar, bigint)', `MAP {'ab': 1::BIGINT, 'c': NULL}`, 11n],
  ['map(integer, array(varchar))', `MAP {1: ['x', 'yz'], 2: NULL}`, 11n],
  ['row(a bigint, b varchar)', `{'f0': 1::BIGINT, 'f1': 'xyz'}`, 11n],
  ['row(a bigint, b row(c varchar))', `{'f0': NULL::BIGINT, 'f1': {'f0': 'xyz'}}`, 3n],
  ['array(row(a varchar, b array(varchar)))', `[{'f0': 'a', 'f1': ['b', 'cd']}, NULL]`, 4n],
];

for (const [type, value, expected] of CASES) {
  test(`${type}: ${value} is ${expected} bytes`, async () => {
    assert.equal(
      await evaluate(`SELECT ${cellBytesOf(parseColumnType(type), 'v')} FROM (SELECT ${value} AS v)`),
      expected,
    );
  });
  test(`${type}: null is 0 bytes`, async () => {
    const nothing = `SELECT CASE WHEN x THEN ${value} END AS v FROM (SELECT false AS x)`;
    assert.equal(await evaluate(`SELECT ${cellBytesOf(parseColumnType(type), 'v')} FROM (${nothing})`), 0n);
  });
}

test('rows of 5,000 columns are measured, each alone and all together', async () => {
  const types = Array.from({ length: 5000 }, (_, i) => parseColumnType(i % 2 === 0 ? 'varchar' : 'bigint'));
  const cells = types.map((_, i) => (i % 2 === 0 ? `'ab' AS c${i}` : `${i} AS c${i}`));
  const rows = `SELECT ${cells.join(', ')} UNION ALL SELECT ${cells.join(', ')}`;
  assert.equal(await evaluate(`SELECT max(b) FROM (SELECT ${rowBytesOf(types)} AS b FROM (${rows}))`), 25_000n);
  assert.equal(await evaluate(`SELECT ${totalBytesOf(types)} FROM (${rows})`), 50_000n);
});

test('a row has the sum of its cells', async () => {
  const types = ['bigint', 'varchar', 'array(integer)'].map(parseColumnType);
  const row = `SELECT NULL::BIGINT AS c0, 'abc' AS c1, [1, 2] AS c2`;
  assert.equal(await evaluate(`SELECT ${rowBytesOf(types)} FROM (${row})`), 11n);
  assert.equal(await evaluate(`SELECT ${rowBytesOf(types.slice(1), (i) => `c${i + 1}`)} FROM (${row})`), 11n);
  assert.equal(await evaluate(`SELECT ${rowBytesOf([])}`), 0n);
});
