import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseColumnNames } from './columns-parameter.ts';

const READ: readonly (readonly [string, readonly string[]])[] = [
  ['a', ['a']],
  ['a,b', ['a', 'b']],
  [' a , b c ', ['a', 'b c']],
  ['"special, column",a', ['special, column', 'a']],
  ['a, "say ""hi""" ,b', ['a', 'say "hi"', 'b']],
  ['"say \\"hi\\""', ['say "hi"']],
  ['"C:\\\\",b', ['C:\\', 'b']],
  ['"a\\\\\\"b"', ['a\\"b']],
  ['"a\\b","c\\,d"', ['a\\b', 'c\\,d']],
  ['a\\\\b', ['a\\\\b']],
  ['it"s', ['it"s']],
  ['""', ['']],
  ['" a "', [' a ']],
];

for (const [text, names] of READ) {
  test(`columns=${text} names ${JSON.stringify(names)}`, () => assert.deepEqual(parseColumnNames(text), names));
}

const REFUSED: readonly (readonly [string, string])[] = [
  ['a,,b', 'columns, position 3: found no column name, expected one on each side of a comma'],
  ['a,', 'columns, position 3: found no column name, expected one on each side of a comma'],
  ['a,"b', 'columns, position 3: found a double quote that is never closed'],
  ['"a"b', 'columns, position 4: found text after a closing quote, expected a comma'],
];

for (const [text, message] of REFUSED) {
  test(`columns=${text} is refused`, () => assert.throws(() => parseColumnNames(text), { message }));
}

test('quoted names are read back, whatever they hold', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: fc.constantFrom(...'\\", a') })), {
        minLength: 1,
      }),
      (names) => {
        for (const quote of ['""', '\\"']) {
          const quoted = names.map((name) => `"${name.replaceAll('\\', '\\\\').replaceAll('"', quote)}"`);
          assert.deepEqual(parseColumnNames(quoted.join(' , ')), names);
        }
      },
    ),
  );
});
