/** What the explorer writes as `columns`, the service reads, and the explorer too: whatever the names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseColumnNames } from '../../src/results/request/columns-parameter.ts';
import { columnsText, namesIn } from '../../web/narrow/columns-text.ts';

const NAMES = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: fc.constantFrom(...'\\", a') }));

test('names are quoted where they must be', () => {
  assert.equal(columnsText(['chain', 'a b', 'C:\\', 'a,b\\', '', '5"']), 'chain,a b,C:\\,"a,b\\\\","","5\\""');
});

test('names that are written are read back', () => {
  fc.assert(
    fc.property(fc.array(NAMES, { minLength: 1 }), (names) => {
      const text = columnsText(names);
      assert.deepEqual(parseColumnNames(text), names, text);
      assert.deepEqual(namesIn(text), names, text);
    }),
  );
});

/** As the service reads it; undefined where it refuses. */
function readByService(text: string): readonly string[] | undefined {
  try {
    return parseColumnNames(text);
  } catch {
    return undefined;
  }
}

test('what somebody wrote by hand is read as the service reads it, and what it refuses is not read', () => {
  assert.deepEqual(namesIn(' a , "b, ""c""" '), ['a', 'b, "c"']);
  assert.deepEqual(namesIn('"a\\b"'), ['a\\b']);
  for (const text of ['', 'a,,b', 'a,', '"a', '"a"b', '"a\\"']) assert.equal(namesIn(text), undefined, text);
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'\\", a') }), (text) => {
      assert.deepEqual(namesIn(text), readByService(text), text);
    }),
    { numRuns: 2000 },
  );
});
