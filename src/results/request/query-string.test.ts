import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RequestError } from '../../errors/errors.ts';
import { formatQueryString, parameterOf, parseQueryString } from './query-string.ts';

const CASES: readonly (readonly [string, readonly (readonly [string, readonly string[]])[]])[] = [
  ['', []],
  [
    'limit=5&offset=10',
    [
      ['limit', ['5']],
      ['offset', ['10']],
    ],
  ],
  ['a=1+2%203', [['a', ['1 2 3']]]],
  ['a=100%', [['a', ['100%']]]],
  ["filters=name like '%USDC%'", [['filters', ["name like '%USDC%'"]]]],
  ['a=%zz%4', [['a', ['%zz%4']]]],
  ['a=%C3%A9%e2%82%AC', [['a', ['é€']]]],
  ['a=%ff', [['a', ['%ff']]]],
  ["filters=name like '%DAO%'", [['filters', ["name like '%DAO%'"]]]],
  ["a='%C3%A9%ba%20%e2%82%F0%9F%98%80%'", [['a', ["'é%ba %e2%82😀%'"]]]],
  // A byte that is written with more bytes than it takes, and half of a surrogate pair.
  ['a=%C0%80+%ED%A0%80+%F4%90%80%80', [['a', ['%C0%80 %ED%A0%80 %F4%90%80%80']]]],
  ['a=1%2B1', [['a', ['1+1']]]],
  ['a=b=c', [['a', ['b=c']]]],
  [
    'a&b=',
    [
      ['a', ['']],
      ['b', ['']],
    ],
  ],
  ['a=1&a=2', [['a', ['1', '2']]]],
  ['&&a=1&', [['a', ['1']]]],
];

for (const [text, expected] of CASES) {
  test(`"${text}" is read as ${JSON.stringify(expected)}`, () => {
    assert.deepEqual([...parseQueryString(text)], expected);
  });
}

test('a formatted query string parses to the same parameters', () => {
  const pairs = fc.dictionary(
    fc.string({ unit: 'grapheme' }),
    fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1 }),
  );
  fc.assert(
    fc.property(pairs, (given) => {
      const parameters = new Map(Object.entries(given));
      const sorted = [...parameters].sort(([a], [b]) => (a < b ? -1 : 1));
      assert.deepEqual([...parseQueryString(formatQueryString(parameters))], sorted);
    }),
  );
});

test('any text is parsed without an error', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void parseQueryString(text)));
});

test('an empty value counts as absent, the same value twice as one, and two different values are refused', () => {
  assert.equal(parameterOf(parseQueryString('limit='), 'limit'), undefined);
  assert.equal(parameterOf(parseQueryString('limit=5&limit=5&limit='), 'limit'), '5');
  assert.throws(
    () => parameterOf(parseQueryString('limit=5&limit=6'), 'limit'),
    new RequestError('invalid_parameter', 'limit: sent 2 times with different values, expected one'),
  );
});
