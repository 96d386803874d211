/** Publishing CSV: RFC 4180 to the letter wherever leniency would lose something; the offending line is named. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Workplace } from './publishing.ts';

let place: Workplace;
before(async () => {
  place = await Workplace.open();
});
after(() => place[Symbol.asyncDispose]());

/** What is odd about it, the file, and the rows or the error. */
const CASES: readonly (readonly [string, string, readonly (readonly (string | null)[])[] | string])[] = [
  ['an empty field too many', 'a,b\n1,2\n3,4,\n', 'line 3: found 3 fields, expected 2'],
  ['the same without a last line end', 'a,b\n1,2\n3,4,', 'line 3: found 3 fields, expected 2'],
  ['the same in every row', 'a,b\n1,2,\n3,4,\n', 'line 2: found 3 fields, expected 2'],
  ['a field too few', 'a,b\n1\n', 'line 2: found 1 fields, expected 2'],
  ['a ragged row after a field of two lines', 'a,b\n1,"x\ny"\n3\n', 'line 4: found 1 fields, expected 2'],
  ['a blank after a closing quote', 'a,b\n1,"2" \n', 'line 2: text or a blank after a closing quote'],
  ['text after a closing quote', 'a,b\n"1"x,2\n', 'line 2: text or a blank after a closing quote'],
  ['a blank before an opening quote', 'a,b\n1, "2"\n', 'line 2: a blank before an opening quote'],
  ['an empty line among rows', 'a,b\n1,2\n\n3,4\n', 'line 3: the line is empty, expected 2 fields'],
  ['the same with CRLF', 'a,b\r\n1,2\r\n\r\n3,4\r\n', 'line 3: the line is empty, expected 2 fields'],
  ['a quote that does not end', 'a,b\n1,2\n3,"4\n5,6\n', 'line 3: a quoted field does not end'],
  ['line ends of two kinds', 'a,b\r\n1,2\r3,4\r\n', 'the file is not CSV by RFC 4180: its lines end in two ways'],
  ['the same after quotes', 'a\n"x"\r\ny', 'the file is not CSV by RFC 4180: its lines end in two ways'],
  [
    'CR after quotes where rows end in LF',
    'a\n"x"\ry\nz',
    'the file is not CSV by RFC 4180: its lines end in two ways',
  ],
  [
    'a line end in a name that hides the rows',
    '"a\r"\nx\ny\n',
    'the file has 2 rows and 0 were read: is there a line end in a column name, or are there line ends of two kinds?',
  ],
  ['empty lines at the end', 'a,b\n1,2\n\n\n', [['1', '2']]],
  ['an empty line of one column is a null', 'a\nx\n\n""\n', [['x'], [null], ['']]],
  ['no last line end', 'a,b\n1,x', [['1', 'x']]],
  [
    'empty fields at the end of a row',
    'a,b\n1,\n,\n',
    [
      ['1', null],
      [null, null],
    ],
  ],
  ['a quote inside of text', 'a,b\n1,5\'10" tall\n', [['1', '5\'10" tall']]],
  ['blanks around plain fields', 'a,b\nx , y \n', [['x ', ' y ']]],
  ['empty lines and line ends of another kind in quotes', 'a,b\n1,"x\n\ny\r\nz"\n', [['1', 'x\n\ny\r\nz']]],
];

for (const [what, text, expected] of CASES) {
  test(`${what}: ${typeof expected === 'string' ? expected : 'read'}`, async () => {
    const file = await place.write('odd.csv', text);
    if (typeof expected === 'string') {
      await assert.rejects(place.publish(file), { name: 'PublishError', message: expected });
    } else assert.deepEqual(await place.rows(await place.publish(file)), expected);
  });
}

test('a ragged row is found far into the file, after many parts are written', async () => {
  const rows = Array.from({ length: 60_000 }, (_, i) => `${i},"x\ny",\n`);
  const file = await place.write('far.csv', `a,b,c\n${rows.join('')}1,2,3,\n`);
  const parts = { rowGroupRows: 2048, rowGroupsPerPart: 1 };
  await assert.rejects(place.publish(file, {}, parts), { message: 'line 120002: found 4 fields, expected 3' });
});

test('a row that is longer than is read is refused, and its line named, however long it is and wherever it stands', async () => {
  const problem = 'line 4: a row is longer than 16777216 bytes';
  // DuckDB says so itself only of rows that end within its buffer.
  for (const [length, begin, end] of [
    [16_777_216, '', ',3\n4,5\n'],
    [34_000_000, '', ',3\n4,5\n'],
    [34_000_000, '3,"', '"\n4,5\n'],
    [70_000_000, '3,', ''],
  ] as const) {
    const file = await place.write('long.csv', `a,b\n1,"\n"\n${begin}${'x'.repeat(length)}${end}`);
    await assert.rejects(place.publish(file), { name: 'PublishError', message: problem });
  }
  const most = await place.publish(await place.write('most.csv', `a\n${'x'.repeat(16_777_215)}\ny\n`));
  assert.deepEqual(
    (await place.rows(most)).map(([text]) => String(text).length),
    [16_777_215, 1],
  );
});
