import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shortened } from './shortened.ts';

test('of a text that is too long the beginning is shown, and no half of a character', () => {
  assert.equal(shortened('abcde', 5), 'abcde');
  assert.equal(shortened('abcdef', 5), 'abcde…');
  assert.equal(shortened('abcd😀', 5), 'abcd…');
  assert.equal(shortened('abc😀d', 5), 'abc😀…');
});
