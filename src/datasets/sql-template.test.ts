import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fillTemplate } from './sql-template.ts';

test('gaps are filled, in fragments too', () => {
  const sql = fillTemplate('WITH {{shares}} SELECT {{name}}', { shares: 's AS (SELECT {{name}})', name: '"x"' });
  assert.equal(sql, 'WITH s AS (SELECT "x") SELECT "x"');
});

test('gaps that each run fills stay', () => {
  assert.equal(fillTemplate('SELECT {{as_of}}', {}, ['as_of']), 'SELECT {{as_of}}');
});

test('a gap without a fragment is an error', () => {
  assert.throws(
    () => fillTemplate('SELECT 1,\n  {{nme}}', {}),
    /^Error: line 2 of the SQL has a gap \{\{nme\}\}, but there is no fragment of that name$/,
  );
});

test('a gap in a fragment is reported with the fragment and its line', () => {
  assert.throws(
    () => fillTemplate('SELECT\n{{shares}}', { shares: 'a,\nb,\n{{nme}}' }),
    /^Error: line 3 of the fragment shares has a gap \{\{nme\}\}, but there is no fragment of that name$/,
  );
});

test('an unknown fragment is an error', () => {
  assert.throws(() => fillTemplate('SELECT 1', { name: 'x' }), /the SQL has no gap for the fragment name/);
});

test('a fragment that contains itself is an error', () => {
  assert.throws(() => fillTemplate('{{a}}', { a: '{{a}}' }), /nested more than 4 deep/);
});
