import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_EXPRESSION_LIMITS } from '../../../test/expression-text.ts';
import { parseColumnType } from '../../domain/column-type.ts';
import { ExpressionError } from '../../expression/expression-error.ts';
import { parseFilter } from '../../expression/parse-filter.ts';
import { bindFilter } from './bind-filter.ts';
import type { Predicate } from './predicate.ts';

const TYPES = {
  chain: 'varchar',
  Chain: 'varchar',
  Amount: 'tinyint',
  total: 'double',
  flag: 'boolean',
  tags: 'array(bigint)',
};
const COLUMNS = Object.entries(TYPES).map(([name, type]) => ({ name, type: parseColumnType(type) }));
const [CHAIN, , AMOUNT, TOTAL, FLAG, TAGS] = COLUMNS.map(({ type }, index) => ({ index, type }));

function bind(text: string): Predicate {
  return bindFilter(parseFilter(text, DEFAULT_EXPRESSION_LIMITS), COLUMNS);
}

function codeOf(text: string): string {
  try {
    bind(text);
  } catch (error) {
    assert.ok(error instanceof ExpressionError);
    return error.code;
  }
  return 'none';
}

test('a name is found exactly, else without case when only one matches, bare or quoted', () => {
  assert.deepEqual(bind(`chain = 'x'`), { kind: 'comparison', column: CHAIN, operator: '=', value: 'x' });
  assert.deepEqual(bind('AMOUNT = 1'), { kind: 'comparison', column: AMOUNT, operator: '=', value: 1n });
  assert.deepEqual(bind('"aMOUNT" = 1'), bind('amount = 1'));
  assert.equal(codeOf(`CHAIN = 'x'`), 'filter_column');
  assert.equal(codeOf(`chain = "CHAIN"`), 'filter_column');
  assert.equal(codeOf('chains = 1'), 'filter_column');
});

test('a quoted name that is no column is text where the other side is a column', () => {
  assert.deepEqual(bind('chain = "base"'), bind(`chain = 'base'`));
  assert.deepEqual(bind('"base" = chain'), bind(`chain = 'base'`));
  assert.deepEqual(bind('chain in ("base", "op")'), bind(`chain in ('base', 'op')`));
  assert.deepEqual(bind('chain like "%USDC%"'), bind(`chain like '%USDC%'`));
  assert.deepEqual(bind('amount = "5"'), bind('amount = 5'));
  assert.equal(codeOf('"base" = \'x\''), 'filter_column');
  assert.equal(codeOf('"base" is null'), 'filter_column');
});

test('a literal on the left turns the comparison round', () => {
  assert.deepEqual(bind('5 < amount'), bind('amount > 5'));
  assert.deepEqual(bind('5 >= amount'), bind('amount <= 5'));
});

test('a number between two values of a type, or beyond all of them, is compared exactly', () => {
  const known = (truth: boolean) => ({ kind: 'known', column: AMOUNT, truth });
  assert.deepEqual(bind('amount < 1000'), known(true));
  assert.deepEqual(bind('amount >= 1000'), known(false));
  assert.deepEqual(bind('amount > -1e9'), known(true));
  assert.deepEqual(bind('amount = 1.5'), known(false));
  assert.deepEqual(bind('amount <> 1.5'), known(true));
  assert.deepEqual(bind('amount < 1.5'), bind('amount <= 1'));
  assert.deepEqual(bind('amount >= -1.5'), bind('amount > -2'));
  assert.deepEqual(bind('amount in (1, 1.5, 300)'), {
    kind: 'or',
    operands: [{ kind: 'in', column: AMOUNT, values: [1n] }, known(false)],
  });
  assert.deepEqual(bind('total <= 1e400'), { kind: 'comparison', column: TOTAL, operator: '<', value: 'Infinity' });
  assert.deepEqual(bind('contains(tags, 1.5)'), { kind: 'known', column: TAGS, truth: false });
});

test('null makes a comparison unknown', () => {
  assert.deepEqual(bind('amount = null'), { kind: 'unknown' });
  assert.deepEqual(bind('amount in (null, null)'), { kind: 'or', operands: [{ kind: 'unknown' }] });
  assert.deepEqual(bind('chain like null'), { kind: 'unknown' });
  assert.deepEqual(bind('contains(tags, null)'), { kind: 'unknown' });
});

test('a boolean column is a condition by itself', () => {
  assert.deepEqual(bind('not flag'), { kind: 'not', operand: { kind: 'flag', column: FLAG } });
  assert.equal(codeOf('chain'), 'filter_type');
});
