import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { parseColumnType } from '../domain/column-type.ts';
import { quoteText } from './quoting.ts';
import { textToStored } from './text-value.ts';

let instance: DuckDBInstance;
before(async () => {
  instance = await DuckDBInstance.create(':memory:');
});
after(() => instance.closeSync());

async function read(type: string, text: string): Promise<unknown> {
  const connection = await instance.connect();
  try {
    await connection.run(`SET TimeZone = 'UTC'`);
    const value = textToStored(parseColumnType(type), 's', `error('misfit ' || s)`);
    const result = await connection.run(
      `SELECT (${value})::VARCHAR FROM (SELECT unnest([${quoteText(text)}, NULL]) AS s)`,
    );
    const [[first] = [], [second] = []] = await result.getRows();
    assert.equal(second, null, 'null stays null');
    return first;
  } finally {
    connection.closeSync();
  }
}

const UINT256_MAX = '115792089237316195423570985008687907853269984665640564039457584007913129639935';

const READ: readonly (readonly [string, string, string])[] = [
  ['boolean', 'TRUE', 'true'],
  ['bigint', '007', '7'],
  ['bigint', '-9223372036854775808', '-9223372036854775808'],
  ['tinyint', ' 5.0 ', '5'],
  ['hugeint', '-170141183460469231731687303715884105728', '-170141183460469231731687303715884105728'],
  ['uint256', UINT256_MAX, UINT256_MAX],
  ['uint256', `0x${'f'.repeat(64)}`, UINT256_MAX],
  ['uint256', '0x00Ff', '255'],
  ['uint256', '+0012', '12'],
  ['uint256', '-0', '0'],
  ['int256', `-${2n ** 255n}`, `-${2n ** 255n}`],
  ['double', '1e3', '1000.0'],
  ['time with time zone', '10:00:00Z', '10:00:00+00'],
  ['time with time zone', '10:00 UTC', '10:00:00+00'],
  ['time with time zone', '10:00-02', '10:00:00-02'],
  ['time with time zone', '10:00:00.5 +02:30', '10:00:00.5+02:30'],
  ['double', `${2n ** 53n}`, '9007199254740992.0'],
  ['double', `-${2n ** 60n}`, '-1.152921504606847e+18'],
  ['double', '1152921504606847000', '1.152921504606847e+18'],
  ['double', `+000${10n ** 22n}`, '1e+22'],
  ['double', `${2n ** 200n}`, '1.6069380442589903e+60'],
  ['double', '9007199254740993.0', '9007199254740992.0'],
  ['double', '0.1', '0.1'],
  ['real', `${2n ** 40n}`, '1099511600000.0'],
  ['double', '-inf', '-inf'],
  ['double', '-0.0', '0.0'],
  ['double', '+.0e-400', '0.0'],
  ['double', '5e-324', '5e-324'],
  ['real', '1e-45', '1e-45'],
  ['decimal(5, 2)', '1.2300', '1.23'],
  ['decimal(5, 2)', '1e2', '100.00'],
  ['decimal(4, 4)', '5e-1', '.5000'],
  ['decimal(4, 4)', '-1.5E-3', '-.0015'],
  ['decimal(4, 4)', '.00001e1', '.0001'],
  ['decimal(5, 2)', '12345e-2', '123.45'],
  ['decimal(38, 38)', '12e-38', `.${'0'.repeat(36)}12`],
  ['decimal(60, 2)', '1e3', '1000.00'],
  ['decimal(60, 2)', '-12.5E-1', '-1.25'],
  ['decimal(60, 2)', '.5e1', '5.00'],
  ['decimal(60, 2)', '1000e-05', '0.01'],
  ['decimal(60, 2)', '0e5', '0.00'],
  ['decimal(60, 2)', '0e9999', '0.00'],
  ['decimal(60, 2)', '-0.00E-99999999999', '0.00'],
  ['decimal(5, 2)', '0e9999', '0.00'],
  ['decimal(5, 2)', '-.0e+99999999999', '0.00'],
  ['decimal(60, 0)', '1.2345e+050', `12345${'0'.repeat(46)}`],
  ['varbinary', '0x00fF', '\\x00\\xFF'],
  ['varbinary', '0x', ''],
  ['date', '2024-02-29', '2024-02-29'],
  ['time', '23:59', '23:59:00'],
  ['timestamp(3)', '2024-03-05', '2024-03-05 00:00:00'],
  ['timestamp(3)', '2024-03-05T10:00:00.120000', '2024-03-05 10:00:00.12'],
  ['timestamp(9)', '2024-03-05 10:00:00.123456789', '2024-03-05 10:00:00.123456789'],
  ['timestamp(3) with time zone', '2024-03-05 10:00', '2024-03-05 10:00:00+00'],
  ['timestamp(3) with time zone', '2024-03-05T10:00Z', '2024-03-05 10:00:00+00'],
  ['timestamp(6) with time zone', '2024-03-05 10:00:00.123456 UTC', '2024-03-05 10:00:00.123456+00'],
  ['timestamp(3) with time zone', '2024-03-05T10:00:00-05:30', '2024-03-05 15:30:00+00'],
  ['uuid', '6F2A3C1E-0000-4000-8000-000000000000', '6f2a3c1e-0000-4000-8000-000000000000'],
  ['interval', '1 day 2 hours', '1 day 02:00:00'],
  ['interval', '2.5 weeks 1.3 days 1.5 hours 1.25 minutes 0.000001 seconds', '18 days 20:43:15.000001'],
  ['interval', '1.125 milliseconds', '00:00:00.001125'],
  ['interval', '2.0 years', '2 years'],
  ['json', '{"a": 1}', '{"a": 1}'],
  ['json', '["NaN", ",]", "\\",}"]', '["NaN", ",]", "\\",}"]'],
  ['array(bigint)', '[1, null, "3"]', '[1, NULL, 3]'],
  ['array(uint256)', `["0xff", ${UINT256_MAX}]`, `[255, ${UINT256_MAX}]`],
  ['array(array(varchar))', '[["a"], null, []]', '[[a], NULL, []]'],
  ['map(varchar, bigint)', '{"a": 1, "A": 2}', '{a=1, A=2}'],
  ['map(double, bigint)', '{"NaN": 1, "1": 2}', '{nan=1, 1.0=2}'],
  ['row(a bigint, "A" bigint, b varchar)', '{"A": 2, "a": null}', `{'f0': NULL, 'f1': 2, 'f2': NULL}`],
  ['row(a bigint, b row(c varchar))', '{"a": 1, "b": {"c": "x"}}', `{'f0': 1, 'f1': {'f0': x}}`],
];

for (const [type, text, expected] of READ) {
  test(`${type} reads ${text.slice(0, 60)}`, async () => assert.equal(await read(type, text), expected));
}

const REFUSED: readonly (readonly [string, string])[] = [
  ['boolean', 'yes'],
  ['bigint', '1.5'],
  ['bigint', '9223372036854775808'],
  ['bigint', ''],
  ['hugeint', '170141183460469231731687303715884105728'],
  ['uint256', `${2n ** 256n}`],
  ['uint256', '-1'],
  ['uint256', '1.5'],
  ['uint256', `0x${'f'.repeat(65)}`],
  ['int256', `${2n ** 255n}`],
  ['int256', `-${2n ** 255n + 1n}`],
  ['double', '9007199254740993'],
  ['double', '\t9007199254740993\r '],
  ['double', '-00012345678901234567890'],
  ['double', `${2n ** 200n + 1n}`],
  ['array(double)', '[9007199254740993]'],
  ['real', '16777217'],
  ['map(double, bigint)', '{"NaN": 1, "nan": 2}'],
  ['map(real, bigint)', '{"nan": 1, "-NaN": 2}'],
  ['map(double, bigint)', '{"1": 1, "1.0": 2}'],
  ['double', '1e400'],
  ['double', '1e-400'],
  ['double', '1_0'],
  ['real', '1e-50'],
  ['array(double)', '["1_0"]'],
  ['double', 'x'],
  ['decimal(60, 2)', '1e-3'],
  ['decimal(60, 2)', '1e58'],
  ['decimal(60, 2)', '1e4000'],
  ['decimal(60, 2)', 'e5'],
  ['decimal(60, 2)', '1e'],
  ['decimal(60, 2)', '1.2.3e1'],
  ['decimal(5, 2)', '1.239'],
  ['decimal(5, 2)', '1e-9999'],
  ['decimal(4, 4)', '1e0'],
  ['decimal(4, 4)', '15e-5'],
  ['decimal(4, 4)', '1e'],
  ['decimal(5, 2)', '1e99999999999'],
  ['decimal(5, 2)', '1000'],
  ['varbinary', 'ff'],
  ['varbinary', '0xfff'],
  ['date', '2024-02-30'],
  ['date', '2024-02-29 10:00:00'],
  ['timestamp(3)', '2024-03-05 10:00:00.1234'],
  ['timestamp(3)', '2024-03-05 10:00:00Z'],
  ['timestamp(6)', 'epoch'],
  ['uuid', 'x'],
  ['timestamp(3) with time zone', '2024-03-05 10:00:00+05:99'],
  ['timestamp(3) with time zone', '2024-03-05 10:00:00+24:00'],
  ['interval', 'soon'],
  ['interval', '1.3 years'],
  ['interval', '1 day 1.33 Months'],
  ['interval', '0.1 quarters'],
  ['interval', '1.05 decades'],
  ['interval', '1.5 microseconds'],
  ['interval', '1.0005 ms'],
  ['json', '{'],
  ['json', 'NaN'],
  ['json', '{"NaN": -Infinity}'],
  ['json', '[1, 2, ]'],
  ['json', '{"a,}": "\\"", }'],
  ['array(double)', '[1, ]'],
  ['array(bigint)', '[1.5]'],
  ['array(bigint)', '{"a": 1}'],
  ['array(bigint)', '[1'],
  ['row(a bigint)', '{"a": 1, "b": 2}'],
];

for (const [type, text] of REFUSED) {
  test(`${type} refuses ${text.slice(0, 60)}`, () => assert.rejects(read(type, text), /misfit/));
}
