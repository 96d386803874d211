import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  checkParameters,
  exampleValues,
  ParameterError,
  parameterValues,
  spelledAsInRuns,
} from './parameter-values.ts';
import type { QueryParameter } from './query.ts';

const DECLARED: readonly QueryParameter[] = [
  { key: 'Chain', type: 'enum', value: 'base', enumOptions: ['base', 'ethereum'] },
  { key: 'day', type: 'datetime' },
  { key: 'n', type: 'number', value: '10' },
];

test("the caller's values come first, then the query's own, in the order of declaration", () => {
  assert.deepEqual(parameterValues(DECLARED, { n: ' 12.50 ', day: '2024-03-05T20:50Z' }), [
    { key: 'Chain', type: 'enum', value: 'base' },
    { key: 'day', type: 'datetime', value: '2024-03-05 20:50:00+00:00' },
    { key: 'n', type: 'number', value: '12.50' },
  ]);
});

describe('refused', () => {
  const cases: readonly (readonly [given: Record<string, string>, message: string])[] = [
    [{ Name: 'x', day: '2024-03-05', other: 'y' }, 'unknown parameters (Name, other)'],
    [{ constructor: 'x', day: '2024-03-05' }, 'unknown parameters (constructor)'],
    [{}, 'parameter day has no value: the query gives it none of its own'],
    [{ day: '2024-02-30' }, 'parameter day is a time, as 2024-03-05 20:50:59 or 2024-03-05: found "2024-02-30"'],
    [
      { day: "2024-03-05' OR 1=1" },
      `parameter day is a time, as 2024-03-05 20:50:59 or 2024-03-05: found "2024-03-05' OR 1=1"`,
    ],
    [{ day: '2024-03-05', n: '1; DROP' }, 'parameter n is a number, as 12, -0.5 or 1e9: found "1; DROP"'],
    [{ day: '2024-03-05', n: '1e400' }, 'parameter n is too large for any type of number: found "1e400"'],
    [
      { day: '2024-03-05 10:00+16' },
      'parameter day is a time, as 2024-03-05 20:50:59 or 2024-03-05: found "2024-03-05 10:00+16"',
    ],
    [
      { day: '2024-03-05 10:00-05:60' },
      'parameter day is a time, as 2024-03-05 20:50:59 or 2024-03-05: found "2024-03-05 10:00-05:60"',
    ],
    [{ day: '2024-03-05', n: '' }, 'parameter n is a number, as 12, -0.5 or 1e9: found ""'],
    [{ day: '2024-03-05', Chain: 'BASE' }, 'parameter Chain is one of "base", "ethereum": found "BASE"'],
  ];
  for (const [given, message] of cases) {
    test(message, () => assert.throws(() => parameterValues(DECLARED, given), new ParameterError(message)));
  }
});

test('values are looked for in the spelling of runs; what is no value stays', () => {
  const given = { day: '2024-03-05', n: ' 4 ', Chain: 'BASE', constructor: 'x', other: '' };
  assert.deepEqual(spelledAsInRuns(DECLARED, given), { ...given, day: '2024-03-05 00:00:00', n: '4' });
});

test('a text without whole characters is refused', () => {
  const read = (value: string) => () => parameterValues([{ key: 't', type: 'text' }], { t: value });
  assert.deepEqual(read("\u{1F600}'\n")(), [{ key: 't', type: 'text', value: "\u{1F600}'\n" }]);
  assert.throws(read('a\0'), new ParameterError('parameter t is a text, which has no NUL character: found "a\\u0000"'));
  assert.throws(read('a\ud83d'), new ParameterError('parameter t is a text of whole characters: found "a\\ud83d"'));
});

test('for an enum of a thousand values, the error offers the nearest and says how many there are', () => {
  const enumOptions = Array.from({ length: 1000 }, (_, i) => `${'option'.repeat(12)}_${i}`);
  const read = (value: string) => () => parameterValues([{ key: 'e', type: 'enum', enumOptions }], { e: value });
  const found = enumOptions[7]?.replace('_', '-') ?? '';
  assert.throws(read(found), ({ message }: Error) => {
    assert.match(
      message,
      /^parameter e is one of 1000 values, such as "(option)+_7", "[a-z0-9_]+", "[a-z0-9_]+": found "/,
    );
    return message.length < 600;
  });
  const long = ['a', 'b', 'c'].map((text) => text.repeat(2000));
  const few = () => parameterValues([{ key: 'e', type: 'enum', enumOptions: long }], { e: 'x' });
  assert.throws(few, ({ message }: Error) => message.length < 600);
  assert.throws(read('?'), /such as "(option)+_0", "(option)+_1", "(option)+_2": found "\?"$/);
});

test('times are brought into one spelling', () => {
  const read = (day: string) => parameterValues([{ key: 'day', type: 'datetime' }], { day })[0]?.value;
  assert.equal(read('2024-03-05'), '2024-03-05 00:00:00');
  assert.equal(read('2024-03-05 20:50:59.123'), '2024-03-05 20:50:59.123');
  assert.equal(read('2024-03-05 20:50:59 UTC'), '2024-03-05 20:50:59+00:00');
  assert.equal(read('2024-03-05T20:50:59+0130'), '2024-03-05 20:50:59+01:30');
  assert.equal(read('2024-03-05T20:50:59-07'), '2024-03-05 20:50:59-07:00');
});

describe('declarations', () => {
  const cases: readonly (readonly [parameters: readonly QueryParameter[], message: RegExp])[] = [
    [[{ key: 'a}}b', type: 'text' }], /"a\}\}b" cannot be the name of a parameter/],
    [[{ key: ' a', type: 'text' }], /" a" cannot be the name/],
    [
      [
        { key: 'a', type: 'text' },
        { key: 'a', type: 'number' },
      ],
      /parameter a is declared twice/,
    ],
    [[{ key: 'a', type: 'enum' }], /parameter a is an enum: give its values as enumOptions/],
    [[{ key: 'a', type: 'number', value: 'x' }], /parameter a is a number/],
  ];
  for (const [parameters, message] of cases) {
    test(String(message), () => assert.throws(() => checkParameters(parameters), message));
  }

  test('each has a value with which the SQL can be checked', () => {
    checkParameters(DECLARED);
    assert.deepEqual(
      exampleValues(DECLARED).map(({ value }) => value),
      ['base', '2024-03-05 00:00:00', '10'],
    );
  });
});
