/** Values in JSON and CSV, for every type of contract §6: what is stored, and what each format shows. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parseColumnType } from '../../src/domain/column-type.ts';
import type { DuckDb } from '../../src/duckdb/duckdb.ts';
import { storageType } from '../../src/duckdb/storage-type.ts';
import { compileRange } from '../../src/results/compile/range.ts';
import { openFolderDuckDb } from './folder-duckdb.ts';

const signal = new AbortController().signal;
let directory: string;
let duckDb: DuckDb;

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'qrs-encoding-'));
  duckDb = await openFolderDuckDb(directory, 1);
});

after(async () => {
  await duckDb[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

/** Type, SQL of the stored value, its JSON text, its CSV text. */
const VALUES: readonly (readonly [type: string, sql: string, json: string, csv: string])[] = [
  ['boolean', 'true', 'true', 'true'],
  ['boolean', 'NULL', 'null', '""'],
  ['tinyint', '-128', '-128', '-128'],
  ['smallint', '32767', '32767', '32767'],
  ['integer', '-2147483648', '-2147483648', '-2147483648'],
  ['bigint', '9223372036854775807', '9223372036854775807', '9223372036854775807'],
  [
    'hugeint',
    `'-170141183460469231731687303715884105728'`,
    '"-170141183460469231731687303715884105728"',
    '-170141183460469231731687303715884105728',
  ],
  [
    'uint256',
    `'115792089237316195423570985008687907853269984665640564039457584007913129639935'`,
    '"115792089237316195423570985008687907853269984665640564039457584007913129639935"',
    '115792089237316195423570985008687907853269984665640564039457584007913129639935',
  ],
  ['int256', `'-1'`, '"-1"', '-1'],
  ['real', '0.1', '0.1', '0.1'],
  ['real', `'-inf'`, '"-Infinity"', '-Infinity'],
  ['double', '0.1', '0.1', '0.1'],
  ['double', '5e-324', '5e-324', '5e-324'],
  ['double', '1.7976931348623157e308', '1.7976931348623157e308', '1.7976931348623157e308'],
  ['double', '100000000000000', '100000000000000.0', '100000000000000.0'],
  ['double', `'nan'`, '"NaN"', 'NaN'],
  ['double', `'inf'`, '"Infinity"', 'Infinity'],
  ['double', 'NULL', 'null', '""'],
  ['decimal(10, 3)', '1.500', '"1.500"', '1.500'],
  [
    'decimal(38, 0)',
    '-99999999999999999999999999999999999999',
    '"-99999999999999999999999999999999999999"',
    '-99999999999999999999999999999999999999',
  ],
  ['varchar', `'plain'`, '"plain"', 'plain'],
  ['varchar', `''`, '""', '""'],
  ['varchar', 'NULL', 'null', '""'],
  ['varchar', `'a,b'`, '"a,b"', '"a,b"'],
  ['varchar', `'say "hi"'`, '"say \\"hi\\""', '"say ""hi"""'],
  ['varchar', `'line' || chr(10) || 'two'`, '"line\\ntwo"', '"line\ntwo"'],
  ['varchar', `'cr' || chr(13)`, '"cr\\r"', '"cr\r"'],
  ['varchar', `' blank '`, '" blank "', ' blank '],
  ['varchar', `chr(1) || chr(0)`, '"\\u0001\\u0000"', '\u0001\u0000'],
  ['varchar', `'é€😀\\'`, '"é€😀\\\\"', 'é€😀\\'],
  ['varbinary', `'\\xDE\\xAD\\x00'`, '"0xdead00"', '0xdead00'],
  ['varbinary', `''`, '"0x"', '0x'],
  ['date', `'2024-03-05'`, '"2024-03-05"', '2024-03-05'],
  ['timestamp(3)', `'2024-03-05 20:50:59'`, '"2024-03-05 20:50:59.000"', '2024-03-05 20:50:59.000'],
  ['timestamp(6)', `'2024-03-05 20:50:59.000123'`, '"2024-03-05 20:50:59.000123"', '2024-03-05 20:50:59.000123'],
  [
    'timestamp(9)',
    `'2024-03-05 20:50:59.000000001'`,
    '"2024-03-05 20:50:59.000000001"',
    '2024-03-05 20:50:59.000000001',
  ],
  [
    'timestamp(3) with time zone',
    `'2024-03-05 20:50:59.5+02:00'`,
    '"2024-03-05 18:50:59.500 UTC"',
    '2024-03-05 18:50:59.500 UTC',
  ],
  [
    'timestamp(6) with time zone',
    `'2024-03-05 20:50:59+00'`,
    '"2024-03-05 20:50:59.000000 UTC"',
    '2024-03-05 20:50:59.000000 UTC',
  ],
  ['time', `'20:50:59.5'`, '"20:50:59.5"', '20:50:59.5'],
  ['interval', `'1 day 02:00:00'`, '"1 day 02:00:00"', '1 day 02:00:00'],
  [
    'uuid',
    `'6f1f2c5e-0000-4000-8000-0123456789ab'`,
    '"6f1f2c5e-0000-4000-8000-0123456789ab"',
    '6f1f2c5e-0000-4000-8000-0123456789ab',
  ],
  ['json', `'{"a": [1]}'`, '"{\\"a\\": [1]}"', '"{""a"": [1]}"'],
  ['array(varchar)', `['a', NULL, 'b"']`, '["a",null,"b\\""]', '"[""a"",null,""b\\""""]"'],
  ['array(bigint)', '[]', '[]', '"[]"'],
  ['array(bigint)', 'NULL', 'null', '""'],
  ['array(double)', `['1.5', 'nan', NULL]`, '[1.5,"NaN",null]', '"[1.5,""NaN"",null]"'],
  [
    'array(array(timestamp(3)))',
    `[['2024-03-05'], NULL, []]`,
    '[["2024-03-05 00:00:00.000"],null,[]]',
    '"[[""2024-03-05 00:00:00.000""],null,[]]"',
  ],
  [
    'array(uint256)',
    `['340282366920938463463374607431768211456']`,
    '["340282366920938463463374607431768211456"]',
    '"[""340282366920938463463374607431768211456""]"',
  ],
  ['map(varchar, bigint)', `MAP {'b': 2, 'a': NULL}`, '{"b":2,"a":null}', '"{""b"":2,""a"":null}"'],
  ['map(bigint, double)', `MAP {7: 'inf'::DOUBLE}`, '{"7":"Infinity"}', '"{""7"":""Infinity""}"'],
  ['map(varchar, bigint)', 'NULL', 'null', '""'],
  [
    'row(a bigint, "B b" array(decimal(3, 1)))',
    `{'f0': 1, 'f1': [1.0, NULL]}`,
    '{"a":1,"B b":["1.0",null]}',
    '"{""a"":1,""B b"":[""1.0"",null]}"',
  ],
  ['row(a bigint)', 'NULL', 'null', '""'],
  ['array(row(a varbinary))', `[{'f0': '\\x01'}]`, '[{"a":"0x01"}]', '"[{""a"":""0x01""}]"'],
];

for (const [file, [type, sql, json, csv]] of VALUES.entries()) {
  test(`${type} ${sql} is ${json} in JSON and ${csv} in CSV`, async () => {
    const path = join(directory, `${file}.parquet`);
    const columnType = parseColumnType(type);
    await duckDb.query(
      { text: `COPY (SELECT (${sql})::${storageType(columnType)} AS c0) TO '${path}' (FORMAT parquet)`, values: [] },
      signal,
    );
    for (const [format, expected] of [
      ['json', `{"the ""name""":${json}}`.replace('""name""', '\\"name\\"')],
      ['csv', csv],
    ] as const) {
      const columns = [{ name: 'the "name"', type: columnType, index: 0 }];
      const [row] = await duckDb.query(compileRange({ columns, format }, { path, from: 0, to: 1 }, 'safe'), signal);
      const [bytes, count] = row ?? [];
      assert.ok(bytes instanceof Uint8Array);
      assert.equal(Buffer.from(bytes).toString(), expected);
      assert.equal(count, 1n);
      const [fast] = await duckDb.query(compileRange({ columns, format }, { path, from: 0, to: 1 }, 'fast'), signal);
      const isForSafe = format === 'json' && ['"NaN"', '"Infinity"', '"-Infinity"'].includes(json);
      assert.deepEqual(fast?.[3], !isForSafe);
      if (!isForSafe) assert.deepEqual(fast, row);
    }
  });
}
