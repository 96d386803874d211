import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_EXPRESSION_LIMITS } from '../../../test/expression-text.ts';
import { parseColumnType } from '../../domain/column-type.ts';
import { Parameters } from '../../duckdb/parameters.ts';
import { parseFilter } from '../../expression/parse-filter.ts';
import { parseSort } from '../../expression/parse-sort.ts';
import { bindFilter } from '../plan/bind-filter.ts';
import { bindSort } from '../plan/bind-sort.ts';
import { compilePredicate } from './predicate.ts';
import { compileSortKeys } from './sort.ts';

const HOSTILE_NAME = `'); DROP TABLE x; --"`;

const COLUMNS = Object.entries({
  n: 'integer',
  d: 'decimal(10, 3)',
  u: 'uint256',
  s: 'int256',
  f: 'double',
  t: 'varchar',
  b: 'varbinary',
  day: 'date',
  ts: 'timestamp(6)',
  tz: 'timestamp(3) with time zone',
  ns: 'timestamp(9)',
  iv: 'interval',
  tt: 'time with time zone',
  flag: 'boolean',
  list: 'array(time with time zone)',
  wide: 'decimal(38, 18)',
  hostile: 'varchar',
}).map(([name, type]) => ({ name: name === 'hostile' ? HOSTILE_NAME : name, type: parseColumnType(type) }));

function compiled(filter: string): readonly [text: string, ...values: unknown[]] {
  const parameters = new Parameters();
  const text = compilePredicate(bindFilter(parseFilter(filter, DEFAULT_EXPRESSION_LIMITS), COLUMNS), parameters);
  return [text, ...parameters.values];
}

test('every value is a parameter, cast to the type of its column', () => {
  assert.deepEqual(compiled('n = 5'), ['(c0 = $1::INTEGER)', 5n]);
  assert.deepEqual(compiled('d <> -0.05'), ['(c1 <> $1::DECIMAL(10, 3))', '-0.050']);
  assert.deepEqual(compiled('f < 0.10'), ['(c4 < $1::DOUBLE)', '1e-1']);
  assert.deepEqual(compiled("t >= 'x'"), ['(c5 >= $1)', 'x']);
  assert.deepEqual(compiled("day = '1970-01-02'"), ['(c7 = make_date($1::INTEGER))', 1n]);
  assert.deepEqual(compiled("ts = '1970-01-02'"), ['(c8 = make_timestamp($1::BIGINT))', 86_400_000_000n]);
  assert.deepEqual(compiled("tz = '1970-01-02'"), ['(c9 = make_timestamptz($1::BIGINT))', 86_400_000_000n]);
  assert.deepEqual(compiled("ns = '1970-01-02'"), ['(c10 = make_timestamp_ns($1::BIGINT))', 86_400_000_000_000n]);
  assert.deepEqual(compiled("tt = '10:00'"), ['(c12::TIMETZ = $1::TIMETZ)', '10:00:00.000000+00:00']);
  assert.deepEqual(compiled("n in (1, 2, '3')"), ['(c0 IN ($1::INTEGER, $2::INTEGER, $3::INTEGER))', 1n, 2n, 3n]);
  assert.deepEqual(compiled("contains(list, '10:00')"), [
    'list_contains(list_transform(c14, lambda e: e::TIMETZ), $1::TIMETZ)',
    '10:00:00.000000+00:00',
  ]);
});

test('binary and floating values are compared as ranges, for which DuckDB asks no bloom filter', () => {
  assert.deepEqual(compiled('b = 0xAB'), ['(c6 >= unhex($1) AND c6 <= unhex($1))', 'ab']);
  assert.deepEqual(compiled('b in (0xAB)'), ['(c6 >= unhex($1) AND c6 <= unhex($1))', 'ab']);
  assert.deepEqual(compiled('f = 0'), ['(c4 >= $1::DOUBLE AND c4 <= $1::DOUBLE)', '0e0']);
  assert.deepEqual(compiled('f != 0'), ['(c4 < $1::DOUBLE OR c4 > $1::DOUBLE)', '0e0']);
});

test('three-valued logic stays in SQL', () => {
  assert.deepEqual(compiled('not (flag and n is not null or n < 1e99)'), [
    '(NOT ((c13 AND (NOT (c0 IS NULL))) OR (c0 IS NOT NULL OR NULL)))',
  ]);
  assert.deepEqual(compiled('n not in (1, null)'), ['(NOT ((c0 = $1::INTEGER) OR NULL::BOOLEAN))', 1n]);
  assert.deepEqual(compiled('n = 1.5 or flag is not true'), ['((c0 IS NULL AND NULL) OR (NOT (c13 IS TRUE)))']);
});

test('256-bit numbers are compared by the length of their digits, then by the digits', () => {
  assert.deepEqual(compiled('u < 1000'), ['(strlen(c2) < 4 OR strlen(c2) = 4 AND c2 < $1)', '1000']);
  assert.deepEqual(compiled('s <= -5'), [
    "(starts_with(c3, '-') AND (strlen(c3) > 2 OR strlen(c3) = 2 AND c3 >= $1))",
    '-5',
  ]);
  assert.deepEqual(compiled('s > 5'), [
    "(NOT starts_with(c3, '-') AND (strlen(c3) > 1 OR strlen(c3) = 1 AND c3 > $1))",
    '5',
  ]);
  assert.deepEqual(compiled('u = 0x10'), ['(c2 = $1)', '16']);
});

test('columns of different widths are compared with each other', () => {
  assert.deepEqual(compiled('n < d'), ['(c0::DECIMAL(13, 3) < c1::DECIMAL(13, 3))']);
  assert.deepEqual(compiled('u != wide'), [
    "((c2::VARCHAR || '000000000000000000')::BIGNUM <> replace(c15::VARCHAR, '.', '')::BIGNUM)",
  ]);
  assert.deepEqual(compiled('f = d'), ['(c4::DOUBLE = c1::VARCHAR::DOUBLE)']);
  assert.deepEqual(compiled('ts < tz'), ['(epoch_us(c8)::HUGEINT * 1000 < epoch_us(c9)::HUGEINT * 1000)']);
  assert.deepEqual(compiled('ts = ts'), ['(c8 = c8)']);
});

test('a pattern becomes a function where there is one, else a regular expression', () => {
  assert.deepEqual(compiled("t like '%USDC%'"), ['(contains(c5, $1))', 'USDC']);
  assert.deepEqual(compiled("t ilike 'usdc%%'"), ['(prefix(lower(c5), lower($1)))', 'usdc']);
  assert.deepEqual(compiled("t like '%100$%' escape '$'"), ['(ends_with(c5, $1))', '100%']);
  assert.deepEqual(compiled("t like 'USDC'"), ['(c5 = $1)', 'USDC']);
  assert.deepEqual(compiled("t not like 'a._%'"), ["(NOT (regexp_full_match(c5, $1, 's')))", 'a\\...*']);
  assert.deepEqual(compiled("t ilike '%a%b'"), ["(regexp_full_match(lower(c5), lower($1), 's'))", '.*a.*b']);
});

test('sort keys', () => {
  const keys = bindSort(parseSort('n desc nulls first, u desc, s, tt', DEFAULT_EXPRESSION_LIMITS), COLUMNS);
  assert.deepEqual(compileSortKeys(keys), [
    'c0 DESC NULLS FIRST',
    'strlen(c2) DESC NULLS LAST',
    'c2 DESC NULLS LAST',
    'c3::BIGNUM ASC NULLS LAST',
    'c12::TIMETZ ASC NULLS LAST',
  ]);
});

test('nothing that was typed gets into the SQL text, whatever it is', () => {
  const hostile = [
    `'; DROP TABLE executions; --`,
    `' OR 1=1 --`,
    `x') UNION SELECT * FROM read_csv('/etc/passwd') --`,
    `$1`,
    `"; SET enable_external_access = true; --`,
    `\\'; ATTACH 'x.db'; --`,
    `\0`,
    `/*`,
    `%'; COPY (SELECT 1) TO 'x'; --`,
  ];
  for (const value of hostile) {
    const quoted = `'${value.replaceAll("'", "''")}'`;
    const name = `"${HOSTILE_NAME.replaceAll('"', '""')}"`;
    assert.deepEqual(compiled(`${name} = ${quoted}`), ['(c16 = $1)', value]);
    assert.deepEqual(compiled(`t in (${quoted}, ${quoted})`), ['(c5 IN ($1, $2))', value, value]);
    assert.deepEqual(compiled(`t = "${value.replaceAll('"', '""')}"`), ['(c5 = $1)', value]);
    const [like, ...patterns] = compiled(`t like ${quoted}`);
    assert.match(like, /^\((c5 = \$1|(prefix|ends_with|contains)\(c5, \$1\)|regexp_full_match\(c5, \$1, 's'\))\)$/);
    assert.equal(patterns.length, 1);
  }
});
