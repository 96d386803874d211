import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quoteName, quoteText } from './quoting.ts';

test('a text is a literal, whatever it holds', () => {
  assert.equal(quoteText("it's"), "'it''s'");
  assert.equal(quoteText(''), "''");
  assert.equal(quoteText("a\0'b\0"), "('a' || chr(0) || '''b' || chr(0) || '')");
});

test('a name is an identifier, whatever it holds', () => {
  assert.equal(quoteName('say "hi"'), '"say ""hi"""');
});
