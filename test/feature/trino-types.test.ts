/**
 * Types and values of a real Trino, one by one: each is read with every digit, or refused with its column and type and what to write instead. The
 * values are written as DuckDB prints them.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { formatColumnType } from '../../src/domain/column-type.ts';
import { readParquetTexts } from '../contract/read-parquet-rows.ts';
import { NO_TRINO, trinoEngine } from '../trino-tables.ts';

/** SQL, the type of the column, and its value. */
const READ: readonly (readonly [sql: string, type: string, value: string | null])[] = [
  ['CAST(-128 AS tinyint)', 'tinyint', '-128'],
  ['CAST(32767 AS smallint)', 'smallint', '32767'],
  ['CAST(-2147483648 AS integer)', 'integer', '-2147483648'],
  ['-9223372036854775808', 'bigint', '-9223372036854775808'],
  ['true', 'boolean', 'true'],
  ["REAL '3.4028235E38'", 'real', '3.4028235e+38'],
  ['CAST(nan() AS real)', 'real', 'nan'],
  ['0.1E0', 'double', '0.1'],
  ['4.9E-324', 'double', '5e-324'],
  ['1.7976931348623157E308', 'double', '1.7976931348623157e+308'],
  ['-infinity()', 'double', '-inf'],
  ["DECIMAL '99999999999999999999999999999999999999'", 'decimal(38, 0)', '99999999999999999999999999999999999999'],
  [
    "DECIMAL '-0.00000000000000000000000000000000000001'",
    'decimal(38, 38)',
    '-.00000000000000000000000000000000000001',
  ],
  ["DECIMAL '0.10'", 'decimal(2, 2)', '.10'],
  ["CAST('a😀' AS varchar(2))", 'varchar', 'a😀'],
  ["CAST('ab' AS char(5))", 'varchar', 'ab   '],
  ["''", 'varchar', ''],
  ["'a' || chr(0) || 'b'", 'varchar', 'a\0b'],
  [`chr(8232) || chr(127) || chr(1) || '"\\'`, 'varchar', '\u2028\u007f\u0001"\\'],
  ["X''", 'varbinary', ''],
  ["X'00FF0A'", 'varbinary', '\\x00\\xFF\\x0A'],
  ["DATE '0001-01-01'", 'date', '0001-01-01'],
  ["DATE '9999-12-31'", 'date', '9999-12-31'],
  ["TIME '20:50:59'", 'time', '20:50:59'],
  ["TIME '20:50:59.123456'", 'time', '20:50:59.123456'],
  ["TIME '20:50:59.123456+05:30'", 'time with time zone', '20:50:59.123456+05:30'],
  ["TIME '20:50:59 -14:00'", 'time with time zone', '20:50:59-14'],
  ["TIMESTAMP '2024-03-05 20:50:59'", 'timestamp(3)', '2024-03-05 20:50:59'],
  ["TIMESTAMP '2024-03-05 20:50:59.1'", 'timestamp(3)', '2024-03-05 20:50:59.1'],
  ["TIMESTAMP '2024-03-05 20:50:59.12'", 'timestamp(3)', '2024-03-05 20:50:59.12'],
  ["TIMESTAMP '2024-03-05 20:50:59.123'", 'timestamp(3)', '2024-03-05 20:50:59.123'],
  ["TIMESTAMP '2024-03-05 20:50:59.1234'", 'timestamp(6)', '2024-03-05 20:50:59.1234'],
  ["TIMESTAMP '2024-03-05 20:50:59.12345'", 'timestamp(6)', '2024-03-05 20:50:59.12345'],
  ["TIMESTAMP '2024-03-05 20:50:59.123456'", 'timestamp(6)', '2024-03-05 20:50:59.123456'],
  ["TIMESTAMP '2024-03-05 20:50:59.1234567'", 'timestamp(9)', '2024-03-05 20:50:59.1234567'],
  ["TIMESTAMP '2024-03-05 20:50:59.12345678'", 'timestamp(9)', '2024-03-05 20:50:59.12345678'],
  ["TIMESTAMP '2024-03-05 20:50:59.123456789'", 'timestamp(9)', '2024-03-05 20:50:59.123456789'],
  ["TIMESTAMP '2024-03-05 20:50:59 +05:30'", 'timestamp(3) with time zone', '2024-03-05 15:20:59+00'],
  ["TIMESTAMP '2024-03-05 20:50:59.1 +05:30'", 'timestamp(3) with time zone', '2024-03-05 15:20:59.1+00'],
  ["TIMESTAMP '2024-03-05 20:50:59.12 +05:30'", 'timestamp(3) with time zone', '2024-03-05 15:20:59.12+00'],
  ["TIMESTAMP '2024-03-05 20:50:59.123 +05:30'", 'timestamp(3) with time zone', '2024-03-05 15:20:59.123+00'],
  ["TIMESTAMP '2024-03-05 20:50:59.1234 +05:30'", 'timestamp(6) with time zone', '2024-03-05 15:20:59.1234+00'],
  ["TIMESTAMP '2024-03-05 20:50:59.12345 +05:30'", 'timestamp(6) with time zone', '2024-03-05 15:20:59.12345+00'],
  ["TIMESTAMP '2024-03-05 20:50:59.123456 +05:30'", 'timestamp(6) with time zone', '2024-03-05 15:20:59.123456+00'],
  ["TIMESTAMP '0001-01-01 00:00:00.000001'", 'timestamp(6)', '0001-01-01 00:00:00.000001'],
  [
    "TIMESTAMP '2024-10-27 02:30:00 Europe/Berlin' AT TIME ZONE 'UTC'",
    'timestamp(3) with time zone',
    '2024-10-27 00:30:00+00',
  ],
  ["INTERVAL '-1 2:03:04.567' DAY TO SECOND", 'interval', '-1 day -02:03:04.567'],
  ["INTERVAL '178956970-7' YEAR TO MONTH", 'interval', '178956970 years 7 months'],
  ["UUID '12151fd2-7586-11e9-8f9e-2a86e4085a59'", 'uuid', '12151fd2-7586-11e9-8f9e-2a86e4085a59'],
  ["IPADDRESS '2001:db8::1'", 'varchar', '2001:db8::1'],
  [`JSON '{"b":12345678901234567890123,"a":"\\u0000"}'`, 'json', '{"a":"\\u0000","b":12345678901234567890123}'],
  ["JSON 'null'", 'json', 'null'],
  ['ST_Point(1.5, 2)', 'varchar', 'POINT (1.5 2)'],
  ['NULL', 'integer', null],
  ['ARRAY[]', 'array(integer)', '[]'],
  ["ARRAY[ARRAY['a'], NULL, ARRAY[]]", 'array(array(varchar))', '[[a], NULL, []]'],
  ["ARRAY[X'00', NULL]", 'array(varbinary)', '[\\x00, NULL]'],
  [
    "ARRAY[TIMESTAMP '2024-03-05 20:50:59.123456 +05:30']",
    'array(timestamp(6) with time zone)',
    "['2024-03-05 15:20:59.123456+00']",
  ],
  ["ARRAY[INTERVAL '1' DAY]", 'array(interval)', '[1 day]'],
  ["MAP(ARRAY['a', 'B', ''], ARRAY[1, NULL, 3])", 'map(varchar, integer)', "{a=1, B=NULL, ''=3}"],
  ['MAP()', 'map(integer, integer)', '{}'],
  ["MAP(ARRAY[1, -9223372036854775807], ARRAY['a', 'b'])", 'map(bigint, varchar)', '{1=a, -9223372036854775807=b}'],
  ['MAP(ARRAY[nan(), infinity(), 0.1E0], ARRAY[1, 2, 3])', 'map(double, integer)', '{nan=1, inf=2, 0.1=3}'],
  ['MAP(ARRAY[true, false], ARRAY[1, 2])', 'map(boolean, integer)', '{true=1, false=2}'],
  [
    "MAP(ARRAY[DECIMAL '12345678901234567890.123456789012345678'], ARRAY[1])",
    'map(decimal(38, 18), integer)',
    '{12345678901234567890.123456789012345678=1}',
  ],
  ["MAP(ARRAY[DATE '2024-03-05'], ARRAY[1])", 'map(date, integer)', '{2024-03-05=1}'],
  [
    "MAP(ARRAY[UUID '12151fd2-7586-11e9-8f9e-2a86e4085a59'], ARRAY[1])",
    'map(uuid, integer)',
    '{12151fd2-7586-11e9-8f9e-2a86e4085a59=1}',
  ],
  [
    "MAP(ARRAY[TIMESTAMP '2024-03-05 20:50:59.123456789'], ARRAY[1])",
    'map(timestamp(9), integer)',
    "{'2024-03-05 20:50:59.123456789'=1}",
  ],
  [
    `MAP(ARRAY['"', '\\', '$.a', 'a.b', '[0]', '😀', chr(0)], ARRAY[1, 2, 3, 4, 5, 6, 7])`,
    'map(varchar, integer)',
    `{'"'=1, \\=2, $.a=3, a.b=4, '[0]'=5, 😀=6, \0=7}`,
  ],
  ["ROW(1, 'a')", 'row(field0 integer, field1 varchar)', "{'field0': 1, 'field1': a}"],
  [`CAST(ROW(1, 'a') AS row(x bigint, "Y y" varchar))`, 'row(x bigint, "Y y" varchar)', "{'x': 1, 'Y y': a}"],
  [
    "CAST(ROW(ROW(NULL, X'FF')) AS row(r row(d decimal(38, 1), b varbinary)))",
    'row(r row(d decimal(38, 1), b varbinary))',
    "{'r': {'d': NULL, 'b': \\xFF}}",
  ],
  ["ARRAY[ROW(1, 'a'), NULL]", 'array(row(field0 integer, field1 varchar))', "[{'field0': 1, 'field1': a}, NULL]"],
];

const CAST = 'cast it in the SQL';
const KEYS = 'cast the keys of the map to varchar';

/** SQL, its type, and what to do. */
const REFUSED: readonly (readonly [sql: string, type: string, advice: string])[] = [
  ["TIME '20:50:59.1234567'", 'time(7)', 'cast it to time(6) or to varchar'],
  ["TIME '20:50:59.123456789012'", 'time(12)', 'cast it to time(6) or to varchar'],
  ["TIME '20:50:59.1234567 +05:30'", 'time(7) with time zone', 'cast it to time(6) with time zone or to varchar'],
  ["TIMESTAMP '2024-03-05 20:50:59.1234567890'", 'timestamp(10)', 'cast it to timestamp(9) or to varchar'],
  ["TIMESTAMP '2024-03-05 20:50:59.12345678901'", 'timestamp(11)', 'cast it to timestamp(9) or to varchar'],
  ["TIMESTAMP '2024-03-05 20:50:59.123456789012'", 'timestamp(12)', 'cast it to timestamp(9) or to varchar'],
  [
    "TIMESTAMP '2024-03-05 20:50:59.1234567 +05:30'",
    'timestamp(7) with time zone',
    'cast it to timestamp(6) with time zone or to varchar',
  ],
  [
    "TIMESTAMP '2024-03-05 20:50:59.12345678 +05:30'",
    'timestamp(8) with time zone',
    'cast it to timestamp(6) with time zone or to varchar',
  ],
  [
    "TIMESTAMP '2024-03-05 20:50:59.123456789 +05:30'",
    'timestamp(9) with time zone',
    'cast it to timestamp(6) with time zone or to varchar',
  ],
  [
    "TIMESTAMP '2024-03-05 20:50:59.1234567890 +05:30'",
    'timestamp(10) with time zone',
    'cast it to timestamp(6) with time zone or to varchar',
  ],
  [
    "TIMESTAMP '2024-03-05 20:50:59.12345678901 +05:30'",
    'timestamp(11) with time zone',
    'cast it to timestamp(6) with time zone or to varchar',
  ],
  [
    "TIMESTAMP '2024-03-05 20:50:59.123456789012 +05:30'",
    'timestamp(12) with time zone',
    'cast it to timestamp(6) with time zone or to varchar',
  ],
  [
    "MAP(ARRAY[TIMESTAMP '2024-03-05 20:50:59.1234567891'], ARRAY[1])",
    'map(timestamp(10), integer)',
    'cast it to timestamp(9) or to varchar',
  ],
  ["MAP(ARRAY[TIMESTAMP '2024-03-05 20:50:59 UTC'], ARRAY[1])", 'map(timestamp(0) with time zone, integer)', KEYS],
  ["MAP(ARRAY[TIME '20:50:59'], ARRAY[1])", 'map(time(0), integer)', KEYS],
  ["MAP(ARRAY[X'00'], ARRAY[1])", 'map(varbinary, integer)', KEYS],
  ['MAP(ARRAY[ARRAY[1]], ARRAY[1])', 'map(array(integer), integer)', KEYS],
  ['MAP(ARRAY[ROW(1, 2)], ARRAY[1])', 'map(row(integer, integer), integer)', KEYS],
  ["MAP(ARRAY[INTERVAL '1' DAY], ARRAY[1])", 'map(interval day to second, integer)', KEYS],
  ['approx_set(1)', 'HyperLogLog', CAST],
  ['CAST(approx_set(1) AS P4HyperLogLog)', 'P4HyperLogLog', CAST],
  ['qdigest_agg(1)', 'qdigest(bigint)', CAST],
  ['tdigest_agg(1.0)', 'tdigest', CAST],
  ['make_set_digest(1)', 'SetDigest', CAST],
  ['bing_tile(1, 2, 3)', 'BingTile', CAST],
  ["ARRAY[color('red')]", 'array(color)', CAST],
  ["MAP(ARRAY['a'], ARRAY[approx_set(1)])", 'map(varchar(1), HyperLogLog)', CAST],
];

/** SQL, the type of the column, the value that it cannot hold, and what to do. */
const TOO_MUCH: readonly (readonly [sql: string, type: string, value: string, advice: string])[] = [
  ["DATE '-0001-03-05'", 'date', '-0001-03-05', ''],
  ["DATE '10000-01-01'", 'date', '+10000-01-01', ''],
  ["TIMESTAMP '-0044-03-15 12:00:00'", 'timestamp(3)', '-0044-03-15 12:00:00', ''],
  ["TIMESTAMP '10000-01-01 00:00:00.000'", 'timestamp(3)', '+10000-01-01 00:00:00.000', ''],
  ["TIMESTAMP '9999-12-31 23:59:59.999999999'", 'timestamp(9)', '9999-12-31 23:59:59.999999999', ''],
  [
    "TIMESTAMP '2024-10-27 02:30:00 Europe/Berlin'",
    'timestamp(3) with time zone',
    '2024-10-27 02:30:00 Europe/Berlin',
    ": write it AT TIME ZONE 'UTC' in the SQL",
  ],
  [
    "ARRAY[TIMESTAMP '2024-10-27 02:30:00 Europe/Berlin']",
    'array(timestamp(3) with time zone)',
    '[\\"2024-10-27 02:30:00 Europe/Berlin\\"]',
    ": write it AT TIME ZONE 'UTC' in the SQL",
  ],
  ["INTERVAL '106751991' DAY * 1000", 'interval', '106751991000 00:00:00.000', ''],
];

describe('types of Trino', { skip: NO_TRINO }, async () => {
  const root = await mkdtemp(join(tmpdir(), 'qrs-on-trino-'));
  const engine = trinoEngine(join(root, 'temp'));
  after(async () => {
    await engine[Symbol.asyncDispose]();
    await rm(root, { recursive: true, force: true });
  });
  const path = join(root, 'rows.parquet');
  const materialize = (sql: string) => engine.materialize({ sql, sources: [] }, path, new AbortController().signal);

  test('every type that a result can hold is read with every digit', async () => {
    const made = await materialize(`SELECT ${READ.map(([sql], i) => `${sql} AS c${i}`).join(', ')}`);
    const [row = []] = await readParquetTexts(path);
    const read = READ.map(([sql], i) => [sql, formatColumnType(made.columns[i]?.type ?? { kind: 'json' }), row[i]]);
    assert.deepEqual(read, READ);
  });

  for (const [sql, type, advice] of REFUSED) {
    test(`${sql} is refused`, async () => {
      const message = `a result cannot have the column "v" of type ${type}: ${advice}`;
      await assert.rejects(materialize(`SELECT ${sql} AS v`), { type: 'syntax_error', message });
    });
  }

  for (const [sql, type, value, advice] of TOO_MUCH) {
    test(`${sql} is refused`, async () => {
      const message = `column "v" is ${type} and cannot hold "${value}"${advice}`;
      await assert.rejects(materialize(`SELECT ${sql} AS v`), { type: 'execution_error', message });
    });
  }

  test('a row with two fields of one name is refused, since objects cannot have them', async () => {
    await assert.rejects(materialize('SELECT CAST(ROW(1, 2) AS row(x bigint, X bigint)) AS v'), {
      type: 'syntax_error',
      message: 'a result cannot hold names that differ only in case, as "x" and "x" do: name them in the SQL',
    });
  });
});
