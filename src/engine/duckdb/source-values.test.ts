import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { parseColumnType } from '../../domain/column-type.ts';
import { quoteText } from '../../duckdb/quoting.ts';
import { convert } from './source-values.ts';

let instance: DuckDBInstance;
before(async () => {
  instance = await DuckDBInstance.create(':memory:');
});
after(() => instance.closeSync());

/** @param value SQL */
async function read(type: string, value: string): Promise<unknown> {
  const connection = await instance.connect();
  try {
    await connection.run(`SET TimeZone = 'UTC'`);
    await connection.run(`CREATE OR REPLACE TEMP TABLE source AS SELECT unnest([${value}, NULL]) AS s0`);
    const described = await (await connection.run('DESCRIBE source')).getRows();
    const place = { table: 'chain.sums', column: 'n' };
    const sql = convert('s0', parseColumnType(type), String(described[0]?.[1]), place);
    const result = await connection.run(`SELECT CAST(${sql} AS VARCHAR) FROM source`);
    const [[first] = [], [second] = []] = await result.getRows();
    assert.equal(second, null, 'null stays null');
    return first;
  } finally {
    connection.closeSync();
  }
}

const MOST = '9'.repeat(38);

const TEXTS_READ: readonly (readonly [string, string, string])[] = [
  ['bigint', ' 007 ', '7'],
  ['bigint', '12e2', '1200'],
  ['integer', '-5.0', '-5'],
  ['hugeint', '-1.0', '-1'],
  ['hugeint', '1e22', '10000000000000000000000'],
  ['int256', `-${2n ** 255n}`, `-${2n ** 255n}`],
  ['uint256', '0x10', '16'],
  ['uint256', '0xE5', '229'],
  ['uint256', '+5e3', '5000'],
  ['uint256', MOST, MOST],
  ['boolean', 'TRUE', 'true'],
  ['boolean', '0', 'false'],
  ['real', '0.1', '0.1'],
  ['double', '1e-7', '1e-07'],
  ['decimal(50, 2)', '1.5', '1.50'],
  ['date', '2024-02-29', '2024-02-29'],
  ['time', '10:00', '10:00:00'],
  ['timestamp(3)', '2024-03-05T10:00:00.123456000', '2024-03-05 10:00:00.123456'],
  ['timestamp(9)', '2024-03-05 10:00:00.123456789', '2024-03-05 10:00:00.123456789'],
  ['timestamp(3) with time zone', '2024-03-05T10:00-05:30', '2024-03-05 15:30:00+00'],
  ['varbinary', '0x00ff', '\\x00\\xFF'],
  ['interval', '36 hours', '36:00:00'],
  ['json', '{"a": [1]}', '{"a": [1]}'],
  ['array(uint256)', `[1, ${2n ** 255n}]`, `[1, ${2n ** 255n}]`],
  ['array(map(varchar, boolean))', '[{a=true}]', '[{a=true}]'],
  ['row(a bigint, b array(bigint))', '{b: [7], a: NULL}', "{'a': NULL, 'b': [7]}"],
];

for (const [type, text, expected] of TEXTS_READ) {
  test(`${type} of a source reads the text ${text.slice(0, 60)}`, async () =>
    assert.equal(await read(type, quoteText(text)), expected));
}

const TEXTS_REFUSED: readonly (readonly [type: string, text: string, value?: string, of?: string])[] = [
  ['bigint', '1_000'],
  ['bigint', '0x10'],
  ['bigint', '1e19'],
  ['integer', '12345.0e-1'],
  ['bigint', '12345678901234567.5e0'],
  ['tinyint', '128'],
  ['hugeint', '1.5'],
  ['hugeint', `${2n ** 127n}`],
  ['uint256', '1_000'],
  ['uint256', '-5e0'],
  ['uint256', `${MOST}0`, `${MOST}0`, 'uint256 of at most 38 digits'],
  ['int256', '0.5e0'],
  ['double', '1_0'],
  ['double', '9007199254740993'],
  ['real', '16777217'],
  ['decimal(5, 2)', '1_0'],
  ['boolean', '2'],
  ['date', '2024-03-05 10:00:00'],
  ['date', 'epoch'],
  ['date', 'infinity'],
  ['timestamp(3)', 'infinity'],
  ['timestamp(6)', '2024-03-05 10:00:00.1234567'],
  ['timestamp(3) with time zone', 'epoch'],
  ['timestamp(3) with time zone', '2024-03-05 10:00:00.1234567Z'],
  ['varbinary', 'ff'],
  ['json', 'x'],
  ['array(bigint)', '[1, 1.5]', '1.5', 'bigint'],
  ['array(uint256)', '[-5]', '-5', 'uint256'],
  ['array(uint256)', '[1.5]', '1.5', 'uint256'],
  ['array(timestamp(3))', '[epoch]', 'epoch', 'timestamp(3)'],
  ['array(bigint)', '1'],
  ['map(bigint, varchar)', '{1.5=x}', '1.5', 'bigint'],
  ['array(row(a map(varchar, integer)))', '[{a: {x=0.6}}]', '0.6', 'integer'],
];

for (const [type, text, value = text, of = type] of TEXTS_REFUSED) {
  test(`${type} of a source refuses the text ${text.slice(0, 60)}`, async () => {
    const message = `Invalid Input Error: Source value of chain.sums "n" "${of}": ${value}`;
    await assert.rejects(read(type, quoteText(text)), { message });
  });
}

const VALUES_READ: readonly (readonly [value: string, type: string, expected: string])[] = [
  ['7::BIGINT', 'tinyint', '7'],
  ['7::UTINYINT', 'uint256', '7'],
  ['7::HUGEINT', 'int256', '7'],
  ['7::BIGINT', 'decimal(5, 2)', '7.00'],
  ['7::BIGINT', 'decimal(50, 2)', '7.00'],
  ['2.0::DECIMAL(5, 1)', 'bigint', '2'],
  ['1::BIGINT', 'boolean', 'true'],
  ['16777216::DOUBLE', 'real', '16777216.0'],
  ['0.1::DOUBLE', 'real', '0.1'],
  ['0.1::FLOAT', 'double', '0.10000000149011612'],
  ["TIMESTAMP_NS '2024-03-05 10:00:00.123456'", 'timestamp(3) with time zone', '2024-03-05 10:00:00.123456+00'],
  ["TIMESTAMP_NS '2024-03-05 10:00:00.123456789'", 'timestamp(9)', '2024-03-05 10:00:00.123456789'],
  ["TIMESTAMP '2024-03-05 10:00:00'", 'timestamp(9)', '2024-03-05 10:00:00'],
  ["TIMESTAMP_MS '2024-03-05 10:00:00'", 'timestamp(3)', '2024-03-05 10:00:00'],
  ["DATE '2024-03-05'", 'timestamp(3)', '2024-03-05 00:00:00'],
  ["TIMESTAMP '2024-03-05'", 'date', '2024-03-05'],
  ["TIMESTAMPTZ '2024-03-05 10:00:00+02'", 'timestamp(3)', '2024-03-05 08:00:00'],
  ['[0.1::FLOAT]', 'array(double)', '[0.10000000149011612]'],
  [
    "{'b': 2.0::DOUBLE, 'A, b)': [MAP {1: 'x'}]}",
    'row("a, b)" array(map(varchar, varchar)), b bigint, c date)',
    `{'a, b)': [{1=x}], 'b': 2, 'c': NULL}`,
  ],
  ["'\\xFF'::BLOB", 'varbinary', '\\xFF'],
  ['[1, 2]', 'json', '[1,2]'],
];

for (const [value, type, expected] of VALUES_READ) {
  test(`${type} of a source reads ${value}`, async () => assert.equal(await read(type, value), expected));
}

const VALUES_REFUSED: readonly (readonly [value: string, type: string, told: string, of?: string])[] = [
  ['300::BIGINT', 'tinyint', '300'],
  ["'NaN'::DOUBLE", 'bigint', 'nan'],
  ['1e19::DOUBLE', 'bigint', '1e+19'],
  ['-1::INTEGER', 'uint256', '-1'],
  ['2::BIGINT', 'boolean', '2'],
  ['1.5::DOUBLE', 'hugeint', '1.5'],
  ['1000::BIGINT', 'decimal(5, 2)', '1000'],
  ['16777217::DOUBLE', 'real', '16777217.0'],
  ['16777217::INTEGER', 'real', '16777217'],
  ["TIMESTAMP_NS '2024-03-05 10:00:00.123456789'", 'timestamp(6)', '2024-03-05 10:00:00.123456789'],
  ["TIMESTAMP_NS '2024-03-05 10:00:00.123456789'", 'timestamp(3) with time zone', '2024-03-05 10:00:00.123456789'],
  ["TIMESTAMP '2024-03-05 10:00:00'", 'date', '2024-03-05 10:00:00'],
  ["TIMESTAMP_NS '2024-03-05 00:00:00.000000001'", 'date', '2024-03-05 00:00:00.000000001'],
  ["TIMESTAMP '3000-01-01'", 'timestamp(9)', '3000-01-01 00:00:00'],
  ["DATE 'infinity'", 'date', 'infinity'],
  ["TIMESTAMP '-infinity'", 'timestamp(3)', '-infinity'],
  ["TIMESTAMP '20000-01-01'", 'timestamp(3)', '568971820800000000 microseconds since 1970'],
  ["{'a': 1.5::DOUBLE}", 'row(a bigint)', '1.5', 'bigint'],
  ["[{'a': MAP {'x': 0.6::DOUBLE}}]", 'array(row(a map(varchar, integer)))', '0.6', 'integer'],
];

for (const [value, type, told, of = type] of VALUES_REFUSED) {
  test(`${type} of a source refuses ${value}`, async () => {
    const message = `Invalid Input Error: Source value of chain.sums "n" "${of}": ${told}`;
    await assert.rejects(read(type, value), { message });
  });
}
