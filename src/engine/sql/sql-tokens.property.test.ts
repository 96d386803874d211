/** Where a `{{name}}` stands in a SQL text, however hostile and however long the text is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parametersIn, tokenizeSql } from './sql-tokens.ts';

const CASES = Number(process.env.TEST_CASES ?? 2000);
const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** The rule as a pattern. It is right, and takes time that grows with the cube of the text: the oracle for short ones. */
const PARAMETER = /\{\{[ \t]*([^{}'"\r\n]*[^{}'"\s])[ \t]*\}\}/g;

test('a name is what is between the braces, without the blanks and tabs around it', () => {
  const found = (sql: string) => parametersIn(sql).map(({ name, start, end }) => [name, start, end]);
  assert.deepEqual(found('{{a}}'), [['a', 0, 5]]);
  assert.deepEqual(found('x{{ a b\t}}{{\ta  b }}'), [
    ['a b', 1, 10],
    ['a  b', 10, 20],
  ]);
  assert.deepEqual(found('{{{a}}}'), [['a', 1, 6]]);
  for (const none of ['{{}}', '{{  }}', '{{a\nb}}', "{{a'}}", '{{a{b}}', '{{a}', '{a}}', '{{a\u00a0}}', '{{a']) {
    assert.deepEqual(found(none), [], none);
  }
});

test(`parameters are found where the pattern finds them (${CASES} cases)`, (t) => {
  t.diagnostic(`seed ${SEED}`);
  const piece = fc.constantFrom('{', '{{', '}', '}}', ' ', '\t', '\n', '\u00a0', '\u2028', 'a', 'é', "'", '"', '$');
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
      const sql = pieces.join('');
      assert.deepEqual(
        parametersIn(sql).map(({ name, start, end }) => [name, start, end]),
        [...sql.matchAll(PARAMETER)].map((match) => [match[1], match.index, match.index + match[0].length]),
      );
    }),
    { numRuns: CASES, seed: SEED },
  );
});

// The largest text that a query may have. With the pattern, the first of them takes hours: nothing is timed here.
const CHARS = 500_000;
for (const [what, piece, kind] of [
  ['blanks behind braces that are never closed', ' ', 'space'],
  ['words behind braces that are never closed', 'a ', 'code'],
  ['one long word behind braces', 'a', 'code'],
  ['opening braces', '{{', 'code'],
  ['opening braces with blanks', '{{ ', 'code'],
  ['dollars', '$', 'special_text'],
  ['quotes', "'", 'text'],
  ['opening comments', '/*', 'comment'],
] as const) {
  test(`half a million characters of ${what} are read once`, () => {
    const sql = `{{${piece.repeat(CHARS)}`.slice(0, CHARS);
    const tokens = tokenizeSql(sql, 'nested');
    assert.equal(tokens.map(({ text }) => text).join('') === sql, true);
    assert.equal(tokens.at(2)?.kind, kind);
    assert.deepEqual(parametersIn(sql), []);
  });
}

test('a comment within a comment has an end of its own where comments nest, and none where they do not', () => {
  const kinds = (comments: 'nested' | 'flat') =>
    tokenizeSql('/* /* */ DELETE /* */ */', comments).map(({ kind, text }) => `${kind} ${text}`);
  assert.deepEqual(kinds('nested'), ['comment /* /* */ DELETE /* */ */']);
  assert.deepEqual(kinds('flat'), [
    'comment /* /* */',
    'space  ',
    'code DELETE',
    'space  ',
    'comment /* */',
    'space  ',
    'code *',
    'code /',
  ]);
});
