import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatTable } from './table.ts';

test('names above, texts at the left, numbers at the right', () => {
  assert.equal(
    formatTable(
      ['user', 'requests'],
      [
        ['ann', 12],
        ['bartholomew', 1234567],
        [undefined, 0],
      ],
    ),
    'user          requests\nann                 12\nbartholomew  1,234,567\n                     0\n',
  );
});
