import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DEFAULT_EXPRESSION_LIMITS, formatFilter } from '../../test/expression-text.ts';
import { ExpressionError } from './expression-error.ts';
import type { ExpressionLimits } from './limits.ts';
import { parseFilter } from './parse-filter.ts';
import type { FilterNode, Literal, Name, Operand } from './tree.ts';

const UNBOUNDED: ExpressionLimits = {
  lengthMax: 1e9,
  termsMax: 1e9,
  depthMax: 500,
  inMembersMax: 1e9,
  sortKeysMax: 1e9,
};

function formatted(text: string): string {
  return formatFilter(parseFilter(text, DEFAULT_EXPRESSION_LIMITS));
}

function refusal(text: string, limits: Partial<ExpressionLimits> = {}): ExpressionError {
  try {
    parseFilter(text, { ...DEFAULT_EXPRESSION_LIMITS, ...limits });
  } catch (error) {
    assert.ok(error instanceof ExpressionError);
    return error;
  }
  throw new assert.AssertionError({ message: `${text} was accepted` });
}

test('the forms that existing clients send are read', () => {
  const forms: readonly (readonly [typed: string, read: string])[] = [
    ['number < 3', 'number < 3'],
    ['overtip_amount>0', 'overtip_amount > 0'],
    [`chain="base" AND a = '0xA0b8' or b = '0xa0b8'`, `chain = "base" and a = '0xA0b8' or b = '0xa0b8'`],
    ['tx_to IN (0x6a3e, 0xdbf8)', 'tx_to in (0x6a3e, 0xdbf8)'],
    [`token_pair like '%USDC%'`, `token_pair like '%USDC%'`],
    [
      `block_time >= '2024-03-05 15:03' AND\n(project = 'uniswap' OR project = 'balancer')`,
      `block_time >= '2024-03-05 15:03' and (project = 'uniswap' or project = 'balancer')`,
    ],
    [`"special, column" = 'ABC'`, `"special, column" = 'ABC'`],
    [`name = 'O''Brien; --'`, `name = 'O''Brien; --'`],
    ['a<>-1.5e3', 'a != -1.5e3'],
    [`x NOT LIKE '10$%' ESCAPE '$'`, `x not like '10$%' escape '$'`],
    ['a not between 1 and 5 and b', 'a not between 1 and 5 and b'],
    ['NOT (a OR b) AND c IS NOT NULL', 'not (a or b) and c is not null'],
    ['contains(tags, null)', 'contains(tags, null)'],
    ['contains = 1 and escape = 2', 'contains = 1 and escape = 2'],
  ];
  for (const [typed, read] of forms) assert.equal(formatted(typed), read);
});

test('"and" binds tighter than "or", "not" tighter than both, and a chain is one node', () => {
  const { root } = parseFilter('a or not b and c and d', DEFAULT_EXPRESSION_LIMITS);
  assert.equal(root.kind, 'or');
  assert.deepEqual(root.kind === 'or' ? root.operands.map(({ kind }) => kind) : [], ['flag', 'and']);
  const second = root.kind === 'or' ? root.operands[1] : undefined;
  assert.deepEqual(second?.kind === 'and' ? second.operands.map(({ kind }) => kind) : [], ['not', 'flag', 'flag']);
});

test('every node has its position in the text', () => {
  const text = `a = 1 or "b c" in ('x', 2.50)`;
  const { root } = parseFilter(text, DEFAULT_EXPRESSION_LIMITS);
  const byteChunks: string[] = [];
  const visit = (node: FilterNode | Operand): void => {
    byteChunks.push(text.slice(node.at.offset, node.at.offset + node.at.length));
    if (node.kind === 'or') node.operands.forEach(visit);
    if (node.kind === 'comparison') [node.left, node.right].forEach(visit);
    if (node.kind === 'in') [node.operand, ...node.members].forEach(visit);
  };
  visit(root);
  assert.deepEqual(byteChunks, [text, 'a = 1', 'a', '1', `"b c" in ('x', 2.50)`, '"b c"', `'x'`, '2.50']);
});

test('literals stay as they were typed', () => {
  const number = '0.10000000000000000000000000000000000000000000000001';
  const { root } = parseFilter(`a = ${number}`, DEFAULT_EXPRESSION_LIMITS);
  assert.equal(root.kind === 'comparison' && root.right.kind === 'number' && root.right.text, number);
});

test('each bound has its own error', () => {
  assert.equal(refusal('a = 1', { lengthMax: 4 }).code, 'filter_limit');
  assert.match(refusal('a = 1', { lengthMax: 4 }).message, /has 5 characters, at most 4 are read/);
  assert.match(refusal('a and b and c', { termsMax: 2 }).message, /position 13: .* more than 2 conditions/);
  assert.match(refusal('((a))', { depthMax: 1 }).message, /position 2: .* nested more than 1 deep/);
  assert.match(refusal('not not a', { depthMax: 1 }).message, /position 5: .* nested more than 1 deep/);
  assert.match(refusal('a in (1, 2, 3)', { inMembersMax: 2 }).message, /position 13: .* more than 2 values/);
  assert.equal(formatted('(a) and (b) and not c and not d'), 'a and b and not c and not d');
});

test('positions in errors count characters, not code units', () => {
  assert.equal(refusal(`'😀' == 1`).position, 5);
  assert.match(refusal(`a = '😀' and (b = 1`).message, /^filters, position 19: .* for the "\(" at position 13\. /);
});

test('a chain of 50,000 conditions is parsed without recursion', () => {
  for (const word of ['and', 'or']) {
    const text = Array.from({ length: 50_000 }, (_, i) => `a = ${i}`).join(` ${word} `);
    const filter = parseFilter(text, UNBOUNDED);
    assert.equal(filter.root.kind === 'and' || filter.root.kind === 'or' ? filter.root.operands.length : 0, 50_000);
    assert.equal(formatFilter(filter), text);
  }
});

test('parsing is linear: a quarter of a million hostile characters take seconds at most', () => {
  const length = 250_000;
  const hostile: Readonly<Record<string, string>> = {
    quotes: "'".repeat(length),
    'double quotes': '"'.repeat(length),
    'doubled quotes': `a = '${"''".repeat(length / 2)}'`,
    'open parentheses': '('.repeat(length),
    not: 'not '.repeat(length / 4),
    digits: `a = ${'1'.repeat(length)}`,
    points: '1.'.repeat(length / 2),
    exponents: `a = 1${'e1'.repeat(length / 2)}`,
    hex: `a = 0x${'f'.repeat(length)}`,
    'one word': 'x'.repeat(length),
    blanks: `${' '.repeat(length)}!`,
    'a list': `a in (${'1,'.repeat(length / 2)}`,
    marks: '!'.repeat(length),
    'emoji before the error': `${'😀'.repeat(length / 2)} = '`,
    'lone surrogates': '\ud83d'.repeat(length),
  };
  for (const [name, text] of Object.entries(hostile)) {
    const started = performance.now();
    try {
      parseFilter(text, UNBOUNDED);
    } catch (error) {
      assert.ok(error instanceof ExpressionError, name);
      assert.ok(error.message.length < 1_000, name);
    }
    // It takes some 50 ms; quadratic time would be minutes.
    assert.ok(performance.now() - started < 10_000, `${name} took ${performance.now() - started} ms`);
  }
});

const HERE = { offset: 0, length: 0 };
const nameText = fc.oneof(
  fc.constantFrom('a', 'Amount', 'and', 'contains', 'a b', '', '"', "'", '😀', 'naïve'),
  fc.string(),
);
const name: fc.Arbitrary<Name> = nameText.map((text) => ({
  kind: 'name',
  text,
  quoted: !/^[a-z]$/i.test(text),
  at: HERE,
}));
const text = fc
  .oneof(fc.string(), fc.constantFrom("'", "''", '%', '\0'))
  .map((t): Literal => ({ kind: 'text', text: t, at: HERE }));
const literal: fc.Arbitrary<Literal> = fc.oneof(
  text,
  fc.constantFrom('0', '-1', '+2.50', '.5', '1e-7', '3.').map((t): Literal => ({ kind: 'number', text: t, at: HERE })),
  fc.constantFrom('0x', '0xAbC0').map((t): Literal => ({ kind: 'hex', text: t, at: HERE })),
  fc.boolean().map((value): Literal => ({ kind: 'boolean', value, at: HERE })),
  fc.constant<Literal>({ kind: 'null', at: HERE }),
);
const operand: fc.Arbitrary<Operand> = fc.oneof(name, literal);
const at = fc.constant(HERE);
const negated = fc.boolean();

const { node } = fc.letrec<{ node: FilterNode }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 5 },
    fc.record({ kind: fc.constant('flag' as const), name, at }),
    fc.record({
      kind: fc.constant('comparison' as const),
      operator: fc.constantFrom('=', '!=', '<', '<=', '>', '>='),
      left: operand,
      right: operand,
      at,
    }),
    fc.record({ kind: fc.constant('in' as const), operand, members: fc.array(operand, { minLength: 1 }), negated, at }),
    fc.record({ kind: fc.constant('between' as const), operand, low: operand, high: operand, negated, at }),
    fc.record({
      kind: fc.constant('like' as const),
      caseInsensitive: fc.boolean(),
      operand,
      pattern: operand,
      escape: fc.constantFrom(
        undefined,
        { kind: 'text' as const, text: '\\', at: HERE },
        { kind: 'text' as const, text: '😀', at: HERE },
      ),
      negated,
      at,
    }),
    fc.record({
      kind: fc.constant('is' as const),
      operand,
      what: fc.constantFrom('null', 'true', 'false'),
      negated,
      at,
    }),
    fc.record({ kind: fc.constant('contains' as const), name, member: operand, at }),
    fc.record({ kind: fc.constant('not' as const), operand: tie('node'), at }),
    fc.record({
      kind: fc.constantFrom('and' as const, 'or' as const),
      operands: fc.array(tie('node'), { minLength: 2, maxLength: 4 }),
      at,
    }),
  ),
}));

function withoutPositions(tree: unknown): unknown {
  return JSON.parse(JSON.stringify(tree, (key, value) => (key === 'at' ? undefined : value)));
}

test('law: parse(format(tree)) = tree', () => {
  fc.assert(
    fc.property(node, (root) => {
      const { root: again } = parseFilter(formatFilter({ text: '', root }), UNBOUNDED);
      assert.deepEqual(withoutPositions(again), withoutPositions(root));
    }),
    { numRuns: 300 },
  );
});

test('law: any text is parsed, or refused with an error on one line', () => {
  const piece = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      ...`a "b" 'c' 1 -2 0xff and or not in like escape between is null true ( ) , = == <> ; ‘ select contains`.split(
        ' ',
      ),
    ),
  );
  fc.assert(
    fc.property(
      fc.array(piece).map((byteChunks) => byteChunks.join(' ')),
      (any) => {
        try {
          formatFilter(parseFilter(any, DEFAULT_EXPRESSION_LIMITS));
        } catch (error) {
          assert.ok(error instanceof ExpressionError, String(error));
          assert.match(error.code, /^filter_(syntax|unsupported|limit)$/);
          assert.match(error.message, /^filters, position \d+: [^\n\r\u2028]+$/);
        }
      },
    ),
    { numRuns: 500 },
  );
});
