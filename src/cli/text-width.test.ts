import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutTo, shownText, textWidth } from './text-width.ts';

test('East Asian characters and pictures are two columns wide, marks above a letter none', () => {
  assert.deepEqual(['', 'abc', 'é', 'e\u0301', '漢字', 'ｱ', '😀', '한'].map(textWidth), [0, 3, 1, 1, 4, 1, 2, 2]);
});

test('text that does not fit ends in a mark, and is no wider than asked', () => {
  assert.deepEqual(
    [cutTo('abcdef', 6), cutTo('abcdef', 5), cutTo('漢字漢', 5), cutTo('漢字漢', 4)],
    ['abcdef', 'abcd…', '漢字…', '漢…'],
  );
});

test('control characters never reach a terminal', () => {
  assert.equal(shownText('a\nb\tc\u001b[31m\u0000\u009b\u202ed'), 'a\\nb\\tc\\u001b[31m\\u0000\\u009b\\u202ed');
});
