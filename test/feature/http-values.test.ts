/**
 * Contract §6: values of each type in JSON and in CSV, to the character. Published from NDJSON with declared types, and from a
 * Parquet file where text cannot say the value.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { getEnvelope, getText } from './http-client.ts';
import { type HttpService, startHttpService } from './http-service.ts';

/** A value in the file, in a JSON answer, and as a CSV field. */
type Case = readonly [type: string, source: string, json: string, csv: string];

const UINT256_MAX = '115792089237316195423570985008687907853269984665640564039457584007913129639935';
const INT256_MIN = '-57896044618658097711785492504343953926634992332820282019728792003956564819968';

const FROM_TEXT: readonly Case[] = [
  ['boolean', 'true', 'true', 'true'],
  ['boolean', 'false', 'false', 'false'],
  ['tinyint', '-128', '-128', '-128'],
  ['smallint', '32767', '32767', '32767'],
  ['integer', '-2147483648', '-2147483648', '-2147483648'],
  ['bigint', '9223372036854775807', '9223372036854775807', '9223372036854775807'],
  ['bigint', '-9223372036854775808', '-9223372036854775808', '-9223372036854775808'],
  [
    'hugeint',
    '"-170141183460469231731687303715884105728"',
    '"-170141183460469231731687303715884105728"',
    '-170141183460469231731687303715884105728',
  ],
  ['decimal(10, 3)', '"1234567.891"', '"1234567.891"', '1234567.891'],
  ['decimal(10, 3)', '1.5', '"1.500"', '1.500'],
  [
    'decimal(38, 0)',
    '"99999999999999999999999999999999999999"',
    '"99999999999999999999999999999999999999"',
    '99999999999999999999999999999999999999',
  ],
  ['decimal(4, 4)', '"-0.0001"', '"-0.0001"', '-0.0001'],
  ['uint256', `"${UINT256_MAX}"`, `"${UINT256_MAX}"`, UINT256_MAX],
  ['uint256', '"0xff"', '"255"', '255'],
  ['int256', `"${INT256_MIN}"`, `"${INT256_MIN}"`, INT256_MIN],
  ['double', '0.1', '0.1', '0.1'],
  ['double', '"NaN"', '"NaN"', 'NaN'],
  ['double', '"Infinity"', '"Infinity"', 'Infinity'],
  ['double', '"-Infinity"', '"-Infinity"', '-Infinity'],
  ['real', '0.1', '0.1', '0.1'],
  ['real', '"NaN"', '"NaN"', 'NaN'],
  ['real', '"-inf"', '"-Infinity"', '-Infinity'],
  ['varchar', '"plain text"', '"plain text"', 'plain text'],
  ['varchar', '""', '""', '""'],
  ['varchar', '"a,b"', '"a,b"', '"a,b"'],
  ['varchar', '"say \\"hi\\""', '"say \\"hi\\""', '"say ""hi"""'],
  ['varchar', '"two\\nlines\\r"', '"two\\nlines\\r"', '"two\nlines\r"'],
  ['varchar', '" blanks "', '" blanks "', ' blanks '],
  ['varchar', '"déjà 😀 \\u4e2d"', '"déjà 😀 中"', 'déjà 😀 中'],
  ['varchar', '"null"', '"null"', 'null'],
  ['varchar', '"NaN"', '"NaN"', 'NaN'],
  ['varchar', '"\\u0001\\u001f\\u007f\\\\"', '"\\u0001\\u001F\u007f\\\\"', '\u0001\u001f\u007f\\'],
  ['varchar', '"\\u0000x"', '"\\u0000x"', '\u0000x'],
  ['varbinary', '"0x00FFab"', '"0x00ffab"', '0x00ffab'],
  ['varbinary', '"0x"', '"0x"', '0x'],
  ['date', '"2024-03-05"', '"2024-03-05"', '2024-03-05'],
  ['date', '"0001-01-01"', '"0001-01-01"', '0001-01-01'],
  ['timestamp(3)', '"2024-03-05T20:50:59"', '"2024-03-05 20:50:59.000"', '2024-03-05 20:50:59.000'],
  ['timestamp(6)', '"2024-03-05 20:50:59.123456"', '"2024-03-05 20:50:59.123456"', '2024-03-05 20:50:59.123456'],
  [
    'timestamp(9)',
    '"2024-03-05 20:50:59.123456789"',
    '"2024-03-05 20:50:59.123456789"',
    '2024-03-05 20:50:59.123456789',
  ],
  [
    'timestamp(3) with time zone',
    '"2024-03-05T22:50:59+02:00"',
    '"2024-03-05 20:50:59.000 UTC"',
    '2024-03-05 20:50:59.000 UTC',
  ],
  [
    'timestamp(6) with time zone',
    '"2024-03-05 20:50:59.5Z"',
    '"2024-03-05 20:50:59.500000 UTC"',
    '2024-03-05 20:50:59.500000 UTC',
  ],
  ['time', '"20:50:59.5"', '"20:50:59.5"', '20:50:59.5'],
  ['time with time zone', '"20:50:59+02"', '"20:50:59+02"', '20:50:59+02'],
  ['interval', '"1 year 2 days"', '"1 year 2 days"', '1 year 2 days'],
  [
    'uuid',
    '"0188E99B-AAB1-7C4F-8000-000000000001"',
    '"0188e99b-aab1-7c4f-8000-000000000001"',
    '0188e99b-aab1-7c4f-8000-000000000001',
  ],
  ['json', '{"a":[1,"x"]}', '"{\\"a\\":[1,\\"x\\"]}"', '"{""a"":[1,""x""]}"'],
  ['json', '1', '"1"', '1'],
  ['array(bigint)', '[1,null,9223372036854775807]', '[1,null,9223372036854775807]', '"[1,null,9223372036854775807]"'],
  ['array(bigint)', '[]', '[]', '"[]"'],
  ['array(varchar)', '["a,b","","\\"",null]', '["a,b","","\\"",null]', '"[""a,b"","""",""\\"""",null]"'],
  ['array(uint256)', `["${UINT256_MAX}"]`, `["${UINT256_MAX}"]`, `"[""${UINT256_MAX}""]"`],
  ['array(double)', '[0.5,"NaN",null]', '[0.5,"NaN",null]', '"[0.5,""NaN"",null]"'],
  ['array(varbinary)', '["0xAB"]', '["0xab"]', '"[""0xab""]"'],
  [
    'array(timestamp(3) with time zone)',
    '["2024-03-05"]',
    '["2024-03-05 00:00:00.000 UTC"]',
    '"[""2024-03-05 00:00:00.000 UTC""]"',
  ],
  ['array(array(decimal(5, 2)))', '[["1.5"],[],null]', '[["1.50"],[],null]', '"[[""1.50""],[],null]"'],
  ['map(varchar, bigint)', '{"b":1,"a":null}', '{"b":1,"a":null}', '"{""b"":1,""a"":null}"'],
  ['map(bigint, double)', '{"7":"Infinity"}', '{"7":"Infinity"}', '"{""7"":""Infinity""}"'],
  ['map(varchar, array(varchar))', '{}', '{}', '"{}"'],
  ['row(b bigint, a varchar)', '{"a":"x","b":1}', '{"b":1,"a":"x"}', '"{""b"":1,""a"":""x""}"'],
  [
    'row("A b" uint256, "a B" row(x double))',
    '{"A b":"1","a B":{"x":"NaN"}}',
    '{"A b":"1","a B":{"x":"NaN"}}',
    '"{""A b"":""1"",""a B"":{""x"":""NaN""}}"',
  ],
  ['row(a bigint)', '{"a":null}', '{"a":null}', '"{""a"":null}"'],
];

/** Each case is one row of one column; compares the text of its only value in the answer. */
async function assertValues(
  t: TestContext,
  service: HttpService,
  cases: readonly { readonly type: string; readonly source: string; readonly json: string; readonly csv: string }[],
): Promise<void> {
  for (const [i, { type, source, json, csv }] of cases.entries()) {
    await t.test(`${type}: ${source}`, async () => {
      const [, text] = await getText(service, `/v1/query/7/results?columns=c${i}`);
      assert.equal(/"rows":\[(.*)\],"metadata":/s.exec(text)?.[1], `{"c${i}":${json}}`);
      assert.deepEqual(JSON.parse(text).result.metadata.column_types, [type]);
      const [, lines] = await getText(service, `/v1/query/7/results/csv?columns=c${i}`);
      assert.equal(lines, `c${i}\n${csv}\n`);
    });
  }
}

test('values declared in text', async (t) => {
  const service = await startHttpService(t);
  const types = Object.fromEntries(FROM_TEXT.map(([type], i) => [`c${i}`, type]));
  const line = `{${FROM_TEXT.map(([, source], i) => `"c${i}":${source}`).join(',')}}\n`;
  await service.publish(7, line, { format: 'ndjson', types });
  const cases = FROM_TEXT.map(([type, source, json, csv]) => ({ type, source, json, csv }));
  await assertValues(t, service, cases);
});

test('nulls of every type: null with its key in JSON, empty in CSV', async (t) => {
  const service = await startHttpService(t);
  const types = [...new Set(FROM_TEXT.map(([type]) => type))];
  const names = types.map((_, i) => `c${i}`);
  const declared = Object.fromEntries(types.map((type, i) => [`c${i}`, type]));
  const line = `{${names.map((name) => `"${name}":null`).join(',')}}\n`;
  await service.publish(7, line + line, { format: 'ndjson', types: declared });
  const [, text] = await getText(service, '/v1/query/7/results');
  const row = Object.fromEntries(names.map((name) => [name, null]));
  const { rows, metadata } = JSON.parse(text).result;
  assert.deepEqual(rows, [row, row]);
  assert.deepEqual(metadata.column_types, types);
  assert.equal(metadata.result_set_bytes, 0);
  const empty = ','.repeat(names.length - 1);
  assert.equal((await getText(service, '/v1/query/7/results/csv'))[1], `${names.join(',')}\n${empty}\n${empty}\n`);
  // A row that would be an empty line.
  assert.equal((await getText(service, '/v1/query/7/results/csv?columns=c0'))[1], 'c0\n""\n""\n');
});

test('doubles: the shortest number that reads back the same', async (t) => {
  const service = await startHttpService(t);
  const numbers = [
    0,
    1,
    -1,
    1.5,
    0.1,
    1e-7,
    123456.789,
    1e14,
    999999999999999,
    1e15,
    1e21,
    1e300,
    5e-324,
    1.7976931348623157e308,
    2 ** 53,
    -0.30000000000000004,
  ];
  await service.publish(7, numbers.map((n) => `{"n":${JSON.stringify(n)}}\n`).join(''), {
    format: 'ndjson',
    types: { n: 'double' },
  });
  const [, text] = await getText(service, '/v1/query/7/results');
  assert.deepEqual(
    JSON.parse(text).result.rows.map(({ n }: { n: number }) => n),
    numbers,
  );
  const [, csv] = await getText(service, '/v1/query/7/results/csv');
  const fields = csv.split('\n').slice(1, -1);
  assert.deepEqual(fields.map(Number), numbers);
  for (const [i, field] of fields.entries()) {
    const n = numbers[i] ?? 0;
    if (Number.isInteger(n) && Math.abs(n) < 1e15) assert.doesNotMatch(field, /e/i);
  }
});

test('reals: the shortest number that reads back the same, without an exponent for integers below 1e15', async (t) => {
  const service = await startHttpService(t);
  const numbers = [0, -1.5, 0.1, 16777216, -16777216, 1e14, 1e15, 3.4028235e38, 1e-45];
  const lines = numbers.map((n) => `{"n":${n},"list":[${n}]}\n`).join('');
  await service.publish(7, lines, { format: 'ndjson', types: { n: 'real', list: 'array(real)' } });
  const { rows } = (await getEnvelope(service, '/v1/query/7/results')).result;
  assert.deepEqual(
    rows,
    numbers.map((n) => ({ n, list: [n] })),
  );
  const [, csv] = await getText(service, '/v1/query/7/results/csv?columns=n');
  const fields = csv.split('\n').slice(1, -1);
  assert.deepEqual(fields.map(Number), numbers);
  for (const field of fields.slice(3, 6)) assert.match(field, /^-?\d+(\.0)?$/);
});

test('values that only Parquet can say', async (t) => {
  const service = await startHttpService(t);
  const path = join(service.commandLine.directory, 'values.parquet');
  const cases: readonly (readonly [sql: string, type: string, json: string, csv: string])[] = [
    ["'happy'::ENUM('sad', 'happy')", 'varchar', '"happy"', 'happy'],
    ['18446744073709551615::UBIGINT', 'decimal(20, 0)', '"18446744073709551615"', '18446744073709551615'],
    ['255::UTINYINT', 'smallint', '255', '255'],
    ['-0.0::DOUBLE', 'double', '0.0', '0.0'],
    ["'nan'::FLOAT", 'real', '"NaN"', 'NaN'],
    ["'\\x00\\xFF'::BLOB", 'varbinary', '"0x00ff"', '0x00ff'],
    ["'2024-03-05 20:50:59.5'::TIMESTAMP_MS", 'timestamp(3)', '"2024-03-05 20:50:59.500"', '2024-03-05 20:50:59.500'],
    ["'2024-03-05 20:50:59'::TIMESTAMP", 'timestamp(6)', '"2024-03-05 20:50:59.000000"', '2024-03-05 20:50:59.000000'],
    [
      "'2024-03-05 20:50:59+02'::TIMESTAMPTZ",
      'timestamp(6) with time zone',
      '"2024-03-05 18:50:59.000000 UTC"',
      '2024-03-05 18:50:59.000000 UTC',
    ],
    [
      "{'b': 1, 'a': [NULL, 'x']}",
      'row(b integer, a array(varchar))',
      '{"b":1,"a":[null,"x"]}',
      '"{""b"":1,""a"":[null,""x""]}"',
    ],
    ["MAP {'k': 1.50::DECIMAL(4, 2)}", 'map(varchar, decimal(4, 2))', '{"k":"1.50"}', '"{""k"":""1.50""}"'],
    ['[1, 2]::INTEGER[2]', 'array(integer)', '[1,2]', '"[1,2]"'],
  ];
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  const selected = cases.map(([sql], i) => `${sql} AS c${i}`).join(', ');
  await connection.run(`COPY (SELECT ${selected}) TO '${path}' (FORMAT parquet)`);
  connection.closeSync();
  instance.closeSync();
  await service.publish(7, await readFile(path), { format: 'parquet' });
  await assertValues(
    t,
    service,
    cases.map(([source, type, json, csv]) => ({ type, source, json, csv })),
  );
});

test('any name is kept', async (t) => {
  const service = await startHttpService(t);
  const names = [
    'a',
    'A',
    'a b',
    'a,b',
    '"',
    "'",
    '\\',
    'é😀',
    '\n',
    '\u0001',
    '\u2028',
    '',
    '__proto__',
    '1',
    '%',
    '$.x',
  ];
  const line = `{${names.map((name, i) => `${JSON.stringify(name)}:${i}`).join(',')}}\n`;
  await service.publish(7, line, { format: 'ndjson' });
  const [, text] = await getText(service, '/v1/query/7/results');
  const { rows, metadata } = JSON.parse(text).result;
  assert.deepEqual(metadata.column_names, names);
  assert.deepEqual(
    names.map((name) => Object.getOwnPropertyDescriptor(rows[0], name)?.value),
    names.map((_, i) => i),
  );
  const [, csv] = await getText(service, '/v1/query/7/results/csv');
  const header = 'a,A,a b,"a,b","""",\',\\,é😀,"\n",\u0001,\u2028,"",__proto__,1,%,$.x';
  assert.equal(csv, `${header}\n${names.map((_, i) => i).join(',')}\n`);
});
