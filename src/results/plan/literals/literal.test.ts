import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_EXPRESSION_LIMITS } from '../../../../test/expression-text.ts';
import { parseColumnType } from '../../../domain/column-type.ts';
import { parseFilter } from '../../../expression/parse-filter.ts';
import { readLiteral } from './literal.ts';

/** How a column of the type reads the literal, in short: the value, `between …`, `beyond …`, or the error. */
function read(typed: string, typeName: string): unknown {
  const { root } = parseFilter(`a = ${typed}`, DEFAULT_EXPRESSION_LIMITS);
  const type = parseColumnType(typeName);
  assert.ok(root.kind === 'comparison' && root.right.kind !== 'name' && root.right.kind !== 'null');
  assert.ok(type.kind !== 'array' && type.kind !== 'map' && type.kind !== 'row');
  const reading = readLiteral(root.right, type);
  switch (reading.kind) {
    case 'value':
      return reading.value;
    case 'between':
      return `between ${reading.below} and the next`;
    case 'beyond':
      return `beyond, ${reading.side}`;
    default:
      return `unreadable: ${reading.reason ?? reading.expected}`;
  }
}

test('whole numbers, in any spelling', () => {
  for (const typed of ['42', '+42', '42.0', '4.2e1', '420e-1', "'42'", "' 42 '", '0x2a', "'0x2A'", '042']) {
    assert.equal(read(typed, 'bigint'), 42n, typed);
  }
  assert.equal(read('-0', 'bigint'), 0n);
  assert.equal(read('1.5', 'bigint'), 'between 1 and the next');
  assert.equal(read('-1.5', 'bigint'), 'between -2 and the next');
  assert.equal(read('-1e-400', 'bigint'), 'between -1 and the next');
  assert.equal(read('128', 'tinyint'), 'beyond, above');
  assert.equal(read('127.5', 'tinyint'), 'beyond, above');
  assert.equal(read('-128', 'tinyint'), -128n);
  assert.equal(read('-128.5', 'tinyint'), 'beyond, below');
  assert.equal(read('1e999999999999', 'uint256'), 'beyond, above');
  assert.equal(read('-1', 'uint256'), 'beyond, below');
  assert.equal(read(String(2n ** 256n - 1n), 'uint256'), 2n ** 256n - 1n);
});

test('decimals, in units of their last digit', () => {
  assert.equal(read('1.5', 'decimal(10, 3)'), 1500n);
  assert.equal(read('0.0005', 'decimal(10, 3)'), 'between 0 and the next');
  assert.equal(read('-0.0005', 'decimal(10, 3)'), 'between -1 and the next');
  assert.equal(read('1e7', 'decimal(10, 3)'), 'beyond, above');
  assert.equal(read('9999999.999', 'decimal(10, 3)'), 9999999999n);
});

test('real and double leave the rounding to DuckDB, and know their limits', () => {
  assert.equal(read('0.10', 'double'), '1e-1');
  assert.equal(read('-0', 'double'), '0e0');
  assert.equal(read("'nan'", 'real'), 'NaN');
  assert.equal(read("'-inf'", 'double'), '-Infinity');
  assert.equal(read('1e308', 'double'), '1e308');
  assert.equal(read('1e309', 'double'), 'beyond, above');
  assert.equal(read('-1e39', 'real'), 'beyond, below');
});

test('instants: missing parts are zero, and a zone is taken into account', () => {
  const base = BigInt(Date.UTC(2024, 2, 5)) * 1000n;
  assert.equal(read("'2024-03-05'", 'timestamp(3)'), base);
  assert.equal(read("'2024-03-05 15:03'", 'timestamp(3)'), base + 54_180_000_000n);
  assert.equal(read("'2024-03-05T15:03:07.5Z'", 'timestamp(3)'), base + 54_187_500_000n);
  assert.equal(read("'2024-03-05 15:03:07 UTC'", 'timestamp(3)'), base + 54_187_000_000n);
  assert.equal(read("'2024-03-05 02:00+02:00'", 'timestamp(6) with time zone'), base);
  assert.equal(read("'2024-03-05 00:00:00.0000005'", 'timestamp(6)'), `between ${base} and the next`);
  assert.equal(read("'2024-03-05 00:00:00.000000001'", 'timestamp(9)'), base * 1000n + 1n);
  assert.equal(read("'9999-12-31'", 'timestamp(9)'), 'beyond, above');
  assert.equal(read("'2024-03-05'", 'date'), 19_787n);
  assert.equal(read("'1969-12-31 12:00'", 'date'), 'between -1 and the next');
  assert.equal(read("'0099-03-01'", 'date'), -683_309n);
  assert.equal(read("'2023-02-29'", 'date'), 'unreadable: February 2023 has 28 days.');
  assert.equal(read("'2024-00-01'", 'date'), 'unreadable: A month is 1 to 12.');
  assert.equal(read("'2024-03-05 24:00'", 'timestamp(3)'), 'unreadable: An hour is 0 to 23.');
});

test('times and intervals', () => {
  assert.equal(read("'15:03'", 'time'), 54_180_000_000n);
  assert.equal(read("'15:03:07.5'", 'time with time zone'), '15:03:07.500000+00:00');
  assert.equal(read("'15:03-05:30'", 'time with time zone'), '15:03:00.000000-05:30');
  assert.equal(read("'1 day 02:00:00'", 'interval'), 93_600_000_000n);
  assert.equal(read("'1 year -1 month'", 'interval'), 330n * 86_400_000_000n);
  assert.equal(read("''", 'interval'), "unreadable: an interval such as '3 days' or '1 month 2 days 04:05:06'");
});

test('binary, text, booleans and UUIDs', () => {
  assert.equal(read('0x6A3e', 'varbinary'), '6a3e');
  assert.equal(read("'0X6a3E'", 'varbinary'), '6a3e');
  assert.equal(read('0x', 'varbinary'), '');
  assert.equal(read("'6a3e'", 'varbinary'), 'unreadable: bytes in hexadecimal, such as 0x6a3e');
  assert.equal(read('0x6A3e', 'varchar'), '0x6A3e');
  assert.equal(read('5', 'varchar'), 'unreadable: a text in single quotes');
  assert.equal(read("'TRUE'", 'boolean'), true);
  assert.equal(read('false', 'boolean'), false);
  assert.equal(read('1', 'boolean'), 'unreadable: true or false');
  assert.equal(read("'6F1C0D3E-0000-4000-8000-000000000001'", 'uuid'), '6f1c0d3e-0000-4000-8000-000000000001');
});
