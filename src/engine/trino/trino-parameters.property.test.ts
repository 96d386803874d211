/** Whatever somebody types as the value of a parameter, the text that Trino is sent differs in digits alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ParameterValue } from '../../domain/parameter-values.ts';
import { bindParameters } from '../sql/bind-parameters.ts';
import { TRINO_PARAMETERS } from './trino-parameters.ts';

const CASES = Number(process.env.TEST_CASES ?? 2000);
const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

const HOSTILE = [
  "'",
  "''",
  '"',
  '--',
  '/*',
  '*/',
  ';',
  '\\',
  '$$',
  '?',
  '{{a}}',
  ')',
  'X',
  "'; DROP TABLE x; --",
  '\n',
  '\u2028',
  '😀',
];
const value = fc.array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'grapheme', maxLength: 3 })), {
  maxLength: 6,
});
const around = fc.array(
  fc.constantFrom(...HOSTILE, '{{a}}', "'{{a}}'", "'x{{a}}y'", ' ', 'SELECT', 'LIMIT', "e'", '"{{a}}"', '`'),
  { maxLength: 8 },
);

/** The text that is sent, or why none is. */
function sent(sql: string, parameter: ParameterValue): string {
  try {
    return bindParameters(sql, [parameter], TRINO_PARAMETERS).text;
  } catch (error) {
    return `refused: ${error instanceof Error ? error.message : error}`;
  }
}

test(`two texts differ in hex digits alone, whatever stands around them (${CASES} cases)`, (t) => {
  t.diagnostic(`seed ${SEED}`);
  fc.assert(
    fc.property(around, value, (pieces, characters) => {
      const sql = pieces.join('').replaceAll('\0', '');
      const typed = sent(sql, { key: 'a', type: 'text', value: characters.join('') });
      const harmless = sent(sql, { key: 'a', type: 'text', value: '' });
      assert.equal(typed.replaceAll(/(?<=from_utf8\(X')[0-9A-F]*(?='\))/g, ''), harmless);
    }),
    { numRuns: CASES, seed: SEED },
  );
});

test('the hex digits are the bytes of the value', () => {
  const [, hex = ''] = /X'([0-9A-F]*)'/.exec(sent('{{a}}', { key: 'a', type: 'text', value: "'é😀" })) ?? [];
  assert.equal(Buffer.from(hex, 'hex').toString(), "'é😀");
});

const TOO_LONG = (value: string) =>
  `refused: Trino has no number of more than 38 digits: found ${value}; with an exponent (1e40) it may be rounded`;

for (const [type, given, expected] of [
  ['number', '5', "(CAST('5' AS BIGINT))"],
  ['number', '-.50', "(CAST('-.50' AS DECIMAL(2, 2)))"],
  ['number', '1e9', "(CAST('1e9' AS DOUBLE))"],
  ['number', `00${'9'.repeat(38)}`, `(CAST('00${'9'.repeat(38)}' AS DECIMAL(38, 0)))`],
  ['number', `${'9'.repeat(40)}e0`, `(CAST('${'9'.repeat(40)}e0' AS DOUBLE))`],
  ['number', '170141183460469231731687303715884105727', TOO_LONG('170141183460469231731687303715884105727')],
  ['number', `0.${'9'.repeat(39)}`, TOO_LONG(`0.${'9'.repeat(39)}`)],
  ['number', '1'.repeat(60), TOO_LONG('1'.repeat(60))],
  ['datetime', '2024-03-05 20:50:59', "(CAST('2024-03-05 20:50:59' AS TIMESTAMP(3)))"],
  [
    'datetime',
    '2024-03-05 20:50:59.1234+00:00',
    "(CAST('2024-03-05 20:50:59.1234+00:00' AS TIMESTAMP(6) WITH TIME ZONE))",
  ],
  ['enum', 'a', "(from_utf8(X'61'))"],
] as const) {
  test(`the ${type} ${given} is ${expected}`, () => {
    assert.equal(sent('{{a}}', { key: 'a', type, value: given }), expected);
  });
}

test('where Trino takes digits only, a whole number stands as its digits', () => {
  assert.equal(sent('limit /* rows */ {{a}}', { key: 'a', type: 'number', value: '10' }), 'limit /* rows */  10 ');
  assert.equal(sent('limit {{a}}', { key: 'a', type: 'number', value: '-1' }), "limit (CAST('-1' AS BIGINT))");
  assert.equal(sent('limit {{a}}', { key: 'a', type: 'text', value: '1' }), "limit (from_utf8(X'31'))");
});
