import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DEFAULT_EXPRESSION_LIMITS, formatSort } from '../../test/expression-text.ts';
import { ExpressionError } from './expression-error.ts';
import { parseSort } from './parse-sort.ts';

function formatted(text: string): string {
  return formatSort(parseSort(text, DEFAULT_EXPRESSION_LIMITS));
}

test('sort keys are columns with a direction and a place for nulls, in any case', () => {
  assert.equal(formatted('amount_usd desc, block_time'), 'amount_usd desc, block_time');
  assert.equal(formatted('a ASC NULLS LAST,b\tNulls First'), 'a, b nulls first');
  assert.equal(formatted('"special, ""column""" DESC'), '"special, ""column""" desc');
});

test('no word is reserved in the place of a column', () => {
  assert.equal(
    formatted('desc desc, first, nulls nulls first, order, null'),
    'desc desc, first, nulls nulls first, order, "null"',
  );
});

test('the number of sort keys is bounded', () => {
  assert.throws(
    () => parseSort('a, b, c', { ...DEFAULT_EXPRESSION_LIMITS, sortKeysMax: 2 }),
    (error) => error instanceof ExpressionError && error.code === 'sort_limit' && error.position === 7,
  );
});

test('law: parse(format(keys)) = keys', () => {
  const key = fc.record(
    { name: fc.string(), descending: fc.boolean(), nullsFirst: fc.boolean() },
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(fc.array(key, { minLength: 1, maxLength: 32 }), (keys) => {
      const at = { offset: 0, length: 0 };
      const tree = keys.map(({ name, ...rest }) => ({
        name: { kind: 'name' as const, text: name, quoted: true, at },
        ...rest,
        at,
      }));
      const again = parseSort(formatSort({ text: '', keys: tree }), DEFAULT_EXPRESSION_LIMITS);
      assert.deepEqual(
        again.keys.map(({ name, descending, nullsFirst }) => ({ name: name.text, descending, nullsFirst })),
        keys,
      );
    }),
  );
});

test('law: any text is parsed, or refused with an error on one line', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('a', 'desc', 'nulls', 'first', ',', '"', '-', "'b'", '1'),
  );
  fc.assert(
    fc.property(
      fc.array(piece).map((byteChunks) => byteChunks.join(' ')),
      (any) => {
        try {
          parseSort(any, DEFAULT_EXPRESSION_LIMITS);
        } catch (error) {
          assert.ok(error instanceof ExpressionError, String(error));
          assert.match(error.code, /^sort_(syntax|limit)$/);
          assert.match(error.message, /^sort_by, position \d+: [^\n\r\u2028]+$/);
        }
      },
    ),
    { numRuns: 300 },
  );
});
