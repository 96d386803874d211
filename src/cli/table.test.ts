import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatTable } from './table.ts';

test('names on top, texts at the left, numbers at the right', () => {
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

const RUNS = [
  { name: 'id' },
  { name: 'what it is called', mayBeCut: true },
  { name: 'why', mayBeCut: true },
  { name: 'rows', align: 'right' },
] as const;
const ROWS = [
  ['01HR7V4N7VD2Q9D9Z5T2T6W3M1', 'short', 'a text that is longer than what is left for it', '12345678901234567890'],
  ['01HR7V4N7VD2Q9D9Z5T2T6W3M2', '漢字', '', '7'],
];

test('on a narrow terminal texts are cut, the longest ones first; ids and numbers never', () => {
  const lines = formatTable(RUNS, ROWS, 85).split('\n');
  assert.deepEqual(lines, [
    'id                          what it is called  why                               rows',
    '01HR7V4N7VD2Q9D9Z5T2T6W3M1  short              a text that is …  12345678901234567890',
    '01HR7V4N7VD2Q9D9Z5T2T6W3M2  漢字                                                    7',
    '',
  ]);
});

test('on a terminal too narrow for that, each row is a block', () => {
  assert.equal(
    formatTable(RUNS, ROWS, 50),
    [
      '-- 1 --',
      'id                 01HR7V4N7VD2Q9D9Z5T2T6W3M1',
      'what it is called  short',
      'why                a text that is longer than wha…',
      'rows               12345678901234567890',
      '-- 2 --',
      'id                 01HR7V4N7VD2Q9D9Z5T2T6W3M2',
      'what it is called  漢字',
      'why',
      'rows               7',
      '',
    ].join('\n'),
  );
});

test('in a block, too, ids and numbers are whole', () => {
  const [, , , rows] = formatTable(RUNS, ROWS.slice(0, 1), 30).split('\n').slice(1);
  assert.equal(rows, 'rows               12345678901234567890');
});
