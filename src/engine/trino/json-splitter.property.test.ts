/** However an answer is cut into chunks and whatever it holds: its rows come out byte for byte, and the rest as it was. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { JsonSplitter } from './json-splitter.ts';

const CASES = Number(process.env.TEST_CASES ?? 2000);
const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

const key = fc.constantFrom('id', 'stats', 'columns', 'data ', 'Data', '"data"', 'da\\ta', '[', '}', 'é');
const text = fc.array(fc.constantFrom('"', '\\', '[', ']', '{', '}', ',', ':', '"data":[', 'data', 'é😀', '\\"'), {
  maxLength: 5,
});
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    text.map((pieces) => pieces.join('')),
    fc.integer(),
    fc.constantFrom(null, true),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(key, fc.constant('data')), tie('any'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).any;
const rows = fc.array(fc.array(value, { maxLength: 3 }), { maxLength: 4 });
const members = fc.uniqueArray(fc.tuple(key, value), { selector: ([name]) => name, maxLength: 4 });

function split(bytes: Buffer, sizes: readonly number[]) {
  const splitter = new JsonSplitter();
  let from = 0;
  for (let i = 0; from < bytes.length; i += 1) {
    const to = from + (sizes[i % sizes.length] ?? 1);
    splitter.push(bytes.subarray(from, to));
    from = to;
  }
  return splitter.finish();
}

test(`rows are taken out of any answer (${CASES} cases)`, (t) => {
  t.diagnostic(`seed ${SEED}`);
  const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 });
  const space = fc.constantFrom('', ' ', '\n\t');
  fc.assert(
    fc.property(members, rows, fc.nat(4), sizes, space, (others, list, at, cuts, blank) => {
      const written = JSON.stringify(list, undefined, blank);
      const texts = others.map(
        ([name, held]) => `${JSON.stringify(name)}${blank}:${blank}${JSON.stringify(held, undefined, blank)}`,
      );
      texts.splice(Math.min(at, texts.length), 0, `"data"${blank}:${blank}${written}`);
      const found = split(Buffer.from(`${blank}{${texts.join(`${blank},`)}}`), cuts);
      assert.equal(found.rows?.toString(), written);
      assert.equal(found.rowCount, list.length);
      assert.deepEqual(JSON.parse(found.envelope), { ...Object.fromEntries(others), data: null });
    }),
    { numRuns: CASES, seed: SEED },
  );
});

test('numbers in rows keep digits that JavaScript would round', () => {
  const { rows: found } = split(Buffer.from('{"data":[[9223372036854775807, 1.50]]}'), [3]);
  assert.equal(found?.toString(), '[[9223372036854775807, 1.50]]');
});

test('data that is no list of rows stays where it is', () => {
  const envelope = '{"data":{"segments":[[1]]},"more":["data",[2]]}';
  assert.deepEqual(split(Buffer.from(envelope), [4]), { envelope, rows: undefined, rowCount: 0 });
});
